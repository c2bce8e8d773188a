import type { HighlightAnswer, HighlightRequest } from './highlight-worker.ts'
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

let policy: AddressPolicy | undefined
let worker: Promise<Worker> | undefined
let lastId = 0

/**
 * Returns the coloured text of a file; undefined if its language is not known or the colours take
 * too long. A worker looks for them, so that the page can be used meanwhile.
 */
export async function highlight(text: string, path: string): Promise<DocumentFragment | undefined> {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const extension = name.slice(name.lastIndexOf('.') + 1)
  worker ??= startWorker().catch((error: unknown) => {
    worker = undefined
    throw error
  })
  const html = await ask(await worker, text, NAMES[extension] ?? extension)
  return html === undefined ? undefined : sanitisedSpans(html)
}

async function startWorker(): Promise<Worker> {
  const { workerUrl } = await import('./highlight-worker.ts')
  if (typeof trustedTypes === 'undefined') return new Worker(workerUrl, { type: 'module' })
  policy ??= trustedTypes.createPolicy('branchline-worker', {
    createScriptURL(url) {
      if (url !== workerUrl) throw new TypeError('the page starts one worker only')
      return url
    },
  })
  return new Worker(policy.createScriptURL(workerUrl), { type: 'module' })
}

function ask(asked: Worker, text: string, language: string): Promise<string | undefined> {
  lastId += 1
  const request: HighlightRequest = { id: lastId, text, language }
  return new Promise((resolve) => {
    const finish = (html: string | undefined) => {
      clearTimeout(timer)
      asked.removeEventListener('message', receive)
      asked.removeEventListener('error', stop)
      resolve(html)
    }
    const receive = ({ data }: MessageEvent<HighlightAnswer>) => {
      if (data.id === request.id) finish(data.html)
    }
    const stop = () => {
      // The next text gets a new one.
      worker = undefined
      asked.terminate()
      finish(undefined)
    }
    const timer = setTimeout(stop, MAX_MS)
    asked.addEventListener('message', receive)
    asked.addEventListener('error', stop)
    asked.postMessage(request)
  })
}
