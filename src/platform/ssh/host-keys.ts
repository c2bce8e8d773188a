import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import keygen from 'ssh2/lib/keygen.js'
import keyParser, { type ParsedKey } from 'ssh2/lib/protocol/keyParser.js'

/** The files of the host keys, with their types. */
const KEYS = [
  ['host_ed25519', 'ed25519', undefined],
  ['host_ecdsa', 'ecdsa', 256],
  ['host_rsa', 'rsa', 3072],
] as const

/** A private key by which clients recognise the server. */
export interface HostKey {
  readonly path: string
  readonly text: string
  readonly parsed: ParsedKey
}

/**
 * Reads the host keys.
 *
 * @param files of the operator. Empty for the keys in `folder`, which is created with new keys when
 *   the folder is missing. A missing file of an existing folder is never replaced, since clients
 *   would take the new key for an attack.
 * @throws Error with a sentence for the operator.
 */
export async function readHostKeys(files: readonly string[], folder: string): Promise<HostKey[]> {
  if (files.length > 0) return Promise.all(files.map(readHostKey))
  if (!existsSync(folder)) await createHostKeys(folder)
  return Promise.all(KEYS.map(([name]) => readHostKey(join(folder, name))))
}

async function readHostKey(path: string): Promise<HostKey> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`the SSH host key ${path} cannot be read: ${codeOf(error)}`)
  })
  const parsed = keyParser.parseKey(text)
  if (parsed instanceof Error || parsed.getPrivatePEM() === null)
    throw new Error(`the SSH host key ${path} is no private key without a passphrase`)
  return { path, text, parsed }
}

/** Creates all keys at once: of several servers, one moves its folder into place. */
async function createHostKeys(folder: string): Promise<void> {
  const draft = `${folder}.${randomBytes(6).toString('hex')}`
  await mkdir(draft, { mode: 0o700 })
  try {
    for (const [name, type, bits] of KEYS) {
      const pair = keygen.generateKeyPairSync(type, bits && { bits })
      await writeFile(join(draft, name), pair.private, { mode: 0o600, flush: true })
    }
    await rename(draft, folder)
  } catch (error) {
    const wasFirst = !['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))
    if (wasFirst) throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
