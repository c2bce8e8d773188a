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

/** The part of Trusted Types that the page uses. Not every browser has them. */
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

/** Colours texts, by a worker, so that the page can be used meanwhile. */
export class Highlighter {
  /** Undefined before the first text, and after a text that took too long or nobody wants any more. */
  #worker: Worker | undefined
  /** The end of all earlier requests, since the worker answers one at a time. */
  #earlier: Promise<unknown> = Promise.resolve()

  /**
   * Returns the colours of texts, each of which is a part of one file; undefined if the language is
   * not known or the colours take too long.
   *
   * @param path of the file, whose end says the language.
   * @param signal ends the search.
   */
  highlight(texts: readonly string[], path: string, signal: AbortSignal): Promise<HighlightAnswer> {
    const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
    const extension = name.slice(name.lastIndexOf('.') + 1)
    const request = { texts, language: NAMES[extension] ?? extension }
    const answer = this.#earlier.then(() =>
      signal.aborted ? undefined : this.#ask(request, signal),
    )
    this.#earlier = answer.catch(() => undefined)
    return answer
  }

  /** Ends the worker. */
  end(): void {
    this.#worker?.terminate()
    this.#worker = undefined
  }

  #ask(request: HighlightRequest, signal: AbortSignal): Promise<HighlightAnswer> {
    this.#worker ??= new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, MODULE)
    const worker = this.#worker
    const settled = new AbortController()
    const options = { signal: settled.signal }
    return new Promise((resolve) => {
      const finish = (answer: HighlightAnswer) => {
        settled.abort()
        resolve(answer)
      }
      const stop = () => {
        this.end()
        finish(undefined)
      }
      const timer = AbortSignal.timeout(MAX_MS)
      for (const end of [signal, timer]) end.addEventListener('abort', stop, options)
      worker.addEventListener('error', stop, options)
      worker.addEventListener(
        'message',
        ({ data }: MessageEvent<HighlightAnswer>) => finish(data),
        options,
      )
      worker.postMessage(request)
    })
  }
}
