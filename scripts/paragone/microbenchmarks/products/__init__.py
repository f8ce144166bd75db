"""Matrix products by framework: how fast is a device at all?

A framework is one module here, named like its engine, with five functions:

    open_device(kind, threads)   open the one device and return its name; raises `Unavailable`
    put(array, precision)        a host array on the device, there when this returns
    multiply(a, b)               start a product; returns a tensor that the device may still compute
    wait(tensor)                 return when the device is done with it
    sample(tensor, steps)        every `steps`-th row and column as float64 on the host

`measure` recognizes a full memory, and a precision that the device lacks, by the type and the words of the
error that a framework raises.
"""
