"""Learning rates (not in the paper): how much of a learned function's gain is the rate of its baseline?"""
