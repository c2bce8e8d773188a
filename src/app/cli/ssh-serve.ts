import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { SERVE_SOCKET, type ServeEnd, type ServeRequest } from '../../platform/ssh/serve-socket.ts'
import { HOST_KEYS_FOLDER } from '../private-files.ts'
import { print } from './print.ts'

/** The commands that `sshd` runs. They open neither the database nor a repository. */

/** Exit code of sysexits.h. */
const TRY_AGAIN = 75

const KEY = /^[A-Za-z0-9+/]+={0,2}$/
const KEY_TYPE = /^[a-z0-9@.-]+$/
const KEY_NAME = /^key-([1-9]\d{0,15})$/

/**
 * Prints the line of `authorized_keys` for a key that may sign in, or nothing.
 *
 * @param type as `sshd` gives it for `%t`.
 * @param key in base64, `%k`.
 */
export async function printAuthorizedKey(data: string, type: string, key: string): Promise<void> {
  if (!KEY_TYPE.test(type) || !KEY.test(key)) return
  const answer = await ask(data, { kind: 'key', key })
  const id = answer === undefined ? noServer() : Number(answer)
  if (id > 0) print(`restrict,command="${commandOf(data, id)}" ${type} ${key}`)
}

/** Returns the command of a key, as `authorized_keys` has it. `sshd` runs it by a shell. */
function commandOf(data: string, id: number): string {
  const program = realpathSync(process.argv[1] ?? '')
  const words = [process.execPath, program, 'ssh-serve', '--data', resolve(data), `key-${id}`]
  const command = words.map(quoted).join(' ')
  return command.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

/** Returns a word of a shell, in quotes where the word needs them. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Runs what a client asks for: `SSH_ORIGINAL_COMMAND`, with the rights of a key. */
export async function sshServe(data: string, keyName: string): Promise<void> {
  const [, id] = KEY_NAME.exec(keyName) ?? []
  if (id === undefined) throw new Error(`"${keyName}" is no key, such as key-7.`)
  const token = randomUUID()
  const control = await open(data, { kind: 'control', token })
  if (!control) {
    noServer()
    return
  }
  const lines = linesOf(control)
  await lines.next()
  const { SSH_ORIGINAL_COMMAND = '', SSH_CONNECTION = '', GIT_PROTOCOL = '' } = process.env
  const [peer = ''] = SSH_CONNECTION.split(' ')
  const stream = await open(data, {
    kind: 'data',
    token,
    keyId: Number(id),
    command: SSH_ORIGINAL_COMMAND,
    protocol: GIT_PROTOCOL,
    peer: peer === '' ? '127.0.0.1' : peer,
  })
  if (!stream) {
    noServer()
    return
  }
  process.stdin.pipe(stream)
  for await (const chunk of stream)
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
  const { value } = await lines.next()
  const end: ServeEnd = value === undefined ? CUT_OFF : JSON.parse(value)
  process.stderr.write(end.text)
  process.exitCode = end.code
  process.stdin.destroy()
}

/** The server has ended in the middle of a command. */
const CUT_OFF: ServeEnd = { code: TRY_AGAIN, text: 'Branchline: the server has ended\n' }

function noServer(): number {
  process.stderr.write('Branchline: the server is not running\n')
  process.exitCode = TRY_AGAIN
  return 0
}

/** Returns the first line of the answer to a request; undefined without a server. */
async function ask(data: string, request: ServeRequest): Promise<string | undefined> {
  const socket = await open(data, request)
  if (!socket) return undefined
  const { value } = await linesOf(socket).next()
  return value
}

/** Sends a request. Undefined without a server. */
async function open(data: string, request: ServeRequest): Promise<Socket | undefined> {
  const path = join(resolve(data), HOST_KEYS_FOLDER, SERVE_SOCKET)
  const socket = connect({ path, allowHalfOpen: true })
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  }
  // What follows a cut connection is its end.
  socket.on('error', () => {})
  socket.write(`${JSON.stringify(request)}\n`)
  return socket
}

async function* linesOf(socket: Socket): AsyncGenerator<string, undefined> {
  let begun = ''
  try {
    for await (const chunk of socket) {
      const lines = `${begun}${chunk}`.split('\n')
      begun = lines.pop() ?? ''
      yield* lines
    }
  } catch {
    return undefined
  }
  return undefined
}
