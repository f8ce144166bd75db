# What the main workflow does before and after the jobs of a call, in a module that uses it as `paragone`.


onstart:
    paragone.onstart()


onerror:
    paragone.onerror()


onsuccess:
    paragone.onsuccess()
