import type { DescMethod, Message } from '@bufbuild/protobuf'
import type { RpcProtocol } from '../../support/server.ts'
import { askerAt, restRequestsOf, sendRest, wholeAnswer } from './ask.ts'
import { type Expected, GATES } from './model.ts'
import type { MatrixStage } from './stage.ts'
import type { CallerName } from './test-users.ts'

/** One call of the matrix. */
export interface Cell {
  readonly caller: CallerName
  /** What the call is about, for the reader of a failure. */
  readonly about: string
  readonly expected: Expected
  /** The call, once what it takes is there. */
  request(): Message | Promise<Message>
}

/**
 * Makes the calls of a matrix. What it returns is a line for each of which came something else than
 * it should.
 */
export interface Matrix {
  /** By RPC, where every refusal has its reason. */
  byRpc(method: DescMethod, cells: readonly Cell[], protocol?: RpcProtocol): Promise<string[]>
  /** By every route that the method has over REST, where a refusal has its status. */
  byRest(method: DescMethod, cells: readonly Cell[]): Promise<string[]>
  /** Everything that a call brings back, by every route. */
  answers(
    method: DescMethod,
    request: Message,
    caller: CallerName,
  ): ReturnType<typeof wholeAnswer>[]
}

/**
 * The matrix of calls to a server.
 *
 * @param gates the refusals that keep somebody from what the calls are about.
 */
export function matrixOf({ url, authorization }: MatrixStage, gates: readonly string[]): Matrix {
  const ask = askerAt(url)
  return {
    async byRpc(method, cells, protocol) {
      const differences: string[] = []
      await inParallel(cells, async ({ caller, about, expected, request }) => {
        const outcome = await ask(method, await request(), authorization[caller], protocol)
        if (!isAsExpected(outcome, expected, gates))
          differences.push(`${caller} on ${about}: ${outcome}, not ${expected}`)
      })
      return differences.sort()
    },

    async byRest(method, cells) {
      const differences: string[] = []
      await inParallel(cells, async ({ caller, about, expected, request }) => {
        if (expected === 'let through') return
        for (const sent of restRequestsOf(method, await request())) {
          const { status } = await wholeAnswer(sendRest(url, sent, authorization[caller]))
          if (status === GATES[expected]) continue
          differences.push(
            `${caller} on ${about}: ${status}, not ${GATES[expected]} to ${sent.verb} ${sent.path}`,
          )
        }
      })
      return differences.sort()
    },

    answers: (method, request, caller) =>
      restRequestsOf(method, request).map((sent) =>
        wholeAnswer(sendRest(url, sent, authorization[caller])),
      ),
  }
}

/**
 * Whoever was let through got an answer, or was refused what does not exist or cannot be; a fault
 * of the server is neither.
 */
function isAsExpected(outcome: string, expected: Expected, gates: readonly string[]): boolean {
  if (expected !== 'let through') return outcome === expected
  return !gates.includes(outcome) && /^(ok|[A-Z][A-Z0-9_]+)$/.test(outcome)
}

/** Calls under way at once. The server is in this process: more would only wait. */
const CONCURRENCY = 8

/** Does something to every item, a few at a time. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    // The workers take turns at one iterator.
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
