import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { renderMarkdown } from './markdown.ts'
import type { MarkupMessage, MarkupWork } from './markup-thread.ts'
import { parseYaml } from './yaml.ts'

// The program of the thread for the texts of clients. It takes one request at a time.
const send = (message: MarkupMessage) => parentPort?.postMessage(message)
const threadNumber = threadNumberOf()
if (threadNumber !== undefined) send({ threadNumber })
parentPort?.on('message', (work: MarkupWork) => send({ result: resultOf(work) }))

/** Returns HTML, or the JSON of a YamlResult. */
function resultOf(work: MarkupWork): string {
  return 'yaml' in work ? JSON.stringify(parseYaml(work.yaml)) : renderMarkdown(work)
}

/** Returns the number of this thread; undefined where the kernel does not tell. */
function threadNumberOf(): string | undefined {
  try {
    return basename(readlinkSync('/proc/thread-self'))
  } catch {
    return undefined
  }
}
