"""What Table A1 is trained with, beside the settings of its two tasks."""

LENGTH = {"smoke": 16, "laptop": 16, "overnight": 32, "paper": 32}  # tokens: with 32, a laptop takes twice as long
