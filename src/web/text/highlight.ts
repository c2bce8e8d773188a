import type { HighlightRequest } from './highlight-worker.ts'
import { sanitisedSpans } from './sanitised.ts'

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

/**
 * Returns the coloured text of a file; undefined if its language is not known or the colours take
 * too long. A worker looks for them, so that the page can be used meanwhile.
 *
 * @param signal ends the search.
 */
export async function highlight(
  text: string,
  path: string,
  signal: AbortSignal,
): Promise<DocumentFragment | undefined> {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const extension = name.slice(name.lastIndexOf('.') + 1)
  const html = await askWorker({ text, language: NAMES[extension] ?? extension }, signal)
  return html === undefined ? undefined : sanitisedSpans(html)
}

function askWorker(request: HighlightRequest, signal: AbortSignal): Promise<string | undefined> {
  const address = policy?.createScriptURL(workerUrl) ?? workerUrl
  const worker = new Worker(address, { type: 'module' })
  return new Promise((resolve) => {
    const finish = (html: string | undefined) => {
      worker.terminate()
      resolve(html)
    }
    const stop = () => finish(undefined)
    AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]).addEventListener('abort', stop)
    worker.addEventListener('error', stop)
    worker.addEventListener('message', ({ data }: MessageEvent<string | undefined>) => finish(data))
    worker.postMessage(request)
  })
}
