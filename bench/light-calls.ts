import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A server that is asked for one account at a constant rate. */
export interface Probe {
  readonly name: string
  readonly protocol: 'REST' | 'gRPC'
  readonly url: string
}

/** What the worker is started with. */
export interface LightCallsOptions {
  readonly probes: readonly Probe[]
  readonly intervalMs: number
  readonly username: string
}

/** The calls of one probe. */
export interface LightCalls {
  readonly name: string
  /** Time from when the call was due to its complete response, in the order of the calls. */
  readonly latenciesMs: readonly number[]
  /** Longest time by which the client itself was late. */
  readonly clientLateMs: number
}

/**
 * Sends light calls while work runs. Calls are due at a constant rate, whether earlier ones are
 * answered or not, and their latency is from the time at which they were due: calls that wait for a
 * stalled server all count (G. Tene, "How NOT to Measure Latency": coordinated omission).
 *
 * The client is a thread of its own, which the clients of the heavy work do not delay.
 *
 * @returns the calls of each probe.
 * @throws Error if the work or a call fails.
 */
export async function lightCallsDuring(
  options: LightCallsOptions,
  work: () => Promise<unknown>,
): Promise<readonly LightCalls[]> {
  const worker = new Worker(new URL('./light-calls-worker.js', import.meta.url), {
    workerData: options,
  })
  try {
    await once(worker, 'message')
    await work()
    worker.postMessage('stop')
    const [calls] = await once(worker, 'message')
    return calls
  } finally {
    await worker.terminate()
  }
}
