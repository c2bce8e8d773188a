import { setFlagsFromString } from 'node:v8'

/**
 * Sets up the garbage collection of V8 for a server.
 *
 * V8 allocates objects directly in the old generation where many of them survived (allocation site
 * pretenuring). The objects of a call survive by chance, when a collection happens during the call.
 * Once their sites are pretenured, each finished call keeps its request, response and headers until
 * the next full collection, which raises the measured survival further. A small call then costs a
 * sixth more CPU time, and the heap grows by 4 KB per call.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
