import type { HighlightAnswer, HighlightRequest } from './highlight-worker.ts'

const NAMES: Readonly<Record<string, string>> = {
  dockerfile: 'bash',
  makefile: 'makefile',
  mjs: 'javascript',
  cjs: 'javascript',
  tsx: 'typescript',
  mts: 'typescript',
  proto: 'protobuf',
}

/** A text that takes longer stays plain. A hostile one may take forever. */
const MAX_MS = 10_000

const MODULE: WorkerOptions = { type: 'module' }

/** What the page uses of Trusted Types, which not every browser has. */
declare const trustedTypes:
  | undefined
  | { createPolicy(name: string, rules: AddressPolicy): AddressPolicy }

interface AddressPolicy {
  createScriptURL(url: string): string
}

// Imported by its name, so that the bundler makes a file of it.
const { workerUrl } = await import('./highlight-worker.ts')

/** Permits the address of the worker. A page can declare a policy once only. */
const policy =
  typeof trustedTypes === 'undefined'
    ? undefined
    : trustedTypes.createPolicy('branchline-worker', {
        createScriptURL(url) {
          if (url !== workerUrl) throw new TypeError('the page has one kind of worker only')
          return url
        },
      })

/** The worker of this page, until a text takes too long or nobody wants its colours any more. */
let worker: Worker | undefined

/** The end of all earlier requests, since the worker answers one at a time. */
let earlier: Promise<unknown> = Promise.resolve()

/**
 * Returns the colours of texts, each of which is a part of one file; undefined if the language is not
 * known or the colours take too long. A worker looks for them, so that the page can be used meanwhile.
 *
 * @param path of the file, whose end says the language.
 * @param signal ends the search.
 */
export function highlight(
  texts: readonly string[],
  path: string,
  signal: AbortSignal,
): Promise<HighlightAnswer> {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const extension = name.slice(name.lastIndexOf('.') + 1)
  const request = { texts, language: NAMES[extension] ?? extension }
  const answer = earlier.then(() => (signal.aborted ? undefined : askWorker(request, signal)))
  earlier = answer.catch(() => undefined)
  return answer
}

function askWorker(request: HighlightRequest, signal: AbortSignal): Promise<HighlightAnswer> {
  const asked = worker ?? new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, MODULE)
  worker = asked
  const settled = new AbortController()
  const options = { signal: settled.signal }
  return new Promise((resolve) => {
    const finish = (answer: HighlightAnswer) => {
      settled.abort()
      resolve(answer)
    }
    const stop = () => {
      asked.terminate()
      worker = undefined
      finish(undefined)
    }
    const timer = AbortSignal.timeout(MAX_MS)
    for (const end of [signal, timer]) end.addEventListener('abort', stop, options)
    asked.addEventListener('error', stop, options)
    asked.addEventListener(
      'message',
      ({ data }: MessageEvent<HighlightAnswer>) => finish(data),
      options,
    )
    asked.postMessage(request)
  })
}
