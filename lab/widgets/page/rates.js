// Written by benchmarks/race.py: for each race the learning rate of each function with which its validation score,
// averaged over training, is highest.

export const RATES = {
  "a + b modulo 27": {
    "ReLU": 16,
    "simplicity/addition-27": 6
  },
  "spirals": {
    "ReLU": 0.5,
    "simplicity/addition-27": 0.1,
    "a sine": 0.06,
    "TanH": 0.3,
    "GELU": 0.8
  },
  "rings": {
    "ReLU": 0.8,
    "simplicity/addition-27": 0.2,
    "a sine": 0.06,
    "TanH": 0.5,
    "GELU": 1.2
  },
  "checkerboard": {
    "ReLU": 0.8,
    "simplicity/addition-27": 0.2,
    "a sine": 0.2,
    "TanH": 0.5,
    "GELU": 1.2
  },
  "waves": {
    "a sine": 0.5,
    "TanH": 0.2,
    "GELU": 0.5,
    "ReLU": 0.2
  }
};
