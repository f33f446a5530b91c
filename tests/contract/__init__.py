"""TensorFlow's contract, checked event by event against traces of TensorFlow itself."""
