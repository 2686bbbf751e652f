"""Section 3.2: functions learned on one task, used on another (Figures 5 and 11)."""
