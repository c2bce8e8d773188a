import { parentPort } from 'node:worker_threads'
import { type MarkupRequest, renderMarkdown } from './markdown.ts'

// The program of the thread that renders. It takes one request at a time.
parentPort?.on('message', (request: MarkupRequest) => {
  parentPort?.postMessage(renderMarkdown(request))
})
