"""Matrix products by framework: how fast is a device at all?

A framework is one module here, named like its engine, with five functions:

    open_device(kind, threads)   open the one device and return its name; raises `Unavailable`
    put(array, precision)        a host array on the device, there when this returns
    multiply(a, b)               start a product; returns a tensor that the device may still compute
    wait(tensor)                 return when the device is done with it
    sample(tensor, steps)        every `steps`-th row and column as float64 on the host

`put` and `multiply` raise `Unavailable` for a precision that the device does not have and
`OutOfMemory` when the operands or the product do not fit.
"""


class OutOfMemory(Exception):
    """The product does not fit into the memory of the device or of the host."""
