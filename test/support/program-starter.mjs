// Starts programs for the tests of a worker (`programs.ts`). Requests come over the IPC channel, or over
// a named pipe while the worker waits for the answer.
import { execFile } from 'node:child_process'
import { createReadStream, openSync, writeSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'

/** @typedef {import('./programs.ts').ProgramRequest} ProgramRequest */
/** @typedef {import('./programs.ts').ProgramEnd} ProgramEnd */

const [requestPath = '', answerPath = ''] = process.argv.slice(2)
const LENGTH_BYTES = 4
const NOTHING = Buffer.alloc(0)

process.on('disconnect', () => process.exit())
process.on('message', (message) => {
  const { id, ...request } = /** @type {ProgramRequest & { id: number }} */ (message)
  start(request, (answer) => process.send?.({ id, ...answer }))
})

// In the order in which the worker opens them: each side waits for the other one.
const requests = createReadStream(requestPath, { fd: openSync(requestPath, 'r') })
const answers = openSync(answerPath, 'w')
/** Parts of a request that is not complete. @type {Buffer[]} */
let parts = []
let receivedBytes = 0
requests.on('data', (part) => {
  parts.push(Buffer.from(part))
  receivedBytes += part.length
  if (receivedBytes < LENGTH_BYTES) return
  // The length is in the first part: the worker writes it alone.
  const [length = NOTHING] = parts
  if (receivedBytes < LENGTH_BYTES + length.readUInt32LE()) return
  const request = deserialize(Buffer.concat(parts).subarray(LENGTH_BYTES))
  parts = []
  receivedBytes = 0
  start(request, answerInPipe)
})

function answerInPipe(/** @type {ProgramEnd} */ answer) {
  const payload = serialize(answer)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(payload.length)
  let rest = Buffer.concat([length, payload])
  while (rest.length > 0) rest = rest.subarray(writeSync(answers, rest))
}

/**
 * Runs a program to its end.
 * @param {ProgramRequest} request
 * @param {(answer: ProgramEnd) => void} answer
 */
function start({ file, args, input, cwd, env, umask }, answer) {
  process.umask(umask)
  /** @type {import('node:child_process').ExecFileOptionsWithBufferEncoding} */
  const options = { cwd, env, encoding: 'buffer', maxBuffer: Number.POSITIVE_INFINITY }
  const child = execFile(file, args, options, (error, stdout, stderr) => {
    const code = typeof error?.code === 'string' ? error.code : undefined
    answer({ status: child.exitCode, signal: child.signalCode, code, stdout, stderr })
  })
  // A program may end before it has read its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
}
