import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { type MarkupRequest, renderMarkdown } from './markdown.ts'
import type { MarkupMessage } from './markup-thread.ts'

// The program of the thread that renders. It takes one request at a time.
const send = (message: MarkupMessage) => parentPort?.postMessage(message)
const threadNumber = threadNumberOf()
if (threadNumber !== undefined) send({ threadNumber })
parentPort?.on('message', (request: MarkupRequest) => send({ html: renderMarkdown(request) }))

/** Returns the number of this thread; undefined where the kernel does not tell. */
function threadNumberOf(): string | undefined {
  try {
    return basename(readlinkSync('/proc/thread-self'))
  } catch {
    return undefined
  }
}
