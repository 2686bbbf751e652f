"""Binary operations on two whole numbers, in plain Python."""

FORMULAS = {
    "a+b": lambda a, b: a + b,
    "a-b": lambda a, b: a - b,
    "ab": lambda a, b: a * b,
    "ab if b odd else a+b": lambda a, b: a * b if b % 2 else a + b,
    "a^2+b^2": lambda a, b: a * a + b * b,
    "a^2+ab+b^2": lambda a, b: a * a + a * b + b * b,
    "a^2+ab+b^2+a": lambda a, b: a * a + a * b + b * b + a,
    "a^3+ab": lambda a, b: a * a * a + a * b,
    "a^3+ab^2+b": lambda a, b: a * a * a + a * b * b + b,
}
