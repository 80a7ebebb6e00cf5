"""`lm-eval-bias gate`: may this model be released, by the rules of a policy file?"""
