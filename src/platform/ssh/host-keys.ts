import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import keygen from 'ssh2/lib/keygen.js'
import keyParser, { type ParsedKey } from 'ssh2/lib/protocol/keyParser.js'
import { fingerprintOf } from './public-key-lines.ts'
import type { PublicHostKey } from './ssh-messages.ts'

/** The files of the host keys, with their types. */
const KEYS = [
  ['host_ed25519', 'ed25519', undefined],
  ['host_ecdsa', 'ecdsa', 256],
  ['host_rsa', 'rsa', 3072],
] as const

/** The end of the name of a file with a key that clients learn before connections use it. */
const NEXT = '.next'

/** A private key by which clients recognise the server. */
export interface HostKey {
  /** Whether connections use the key. */
  readonly isActive: boolean
  readonly path: string
  readonly text: string
  readonly parsed: ParsedKey
}

/**
 * Reads the host keys: the present ones, then the next ones.
 *
 * @param files of the operator. Empty for the keys in `folder`, which is created with new keys when
 *   the folder is missing. A missing file of an existing folder is never replaced, since clients
 *   would take the new key for an attack.
 * @throws Error with a sentence for the operator.
 */
export async function readHostKeys(files: readonly string[], folder: string): Promise<HostKey[]> {
  if (files.length > 0) return Promise.all(files.map((path) => readHostKey(path)))
  if (!existsSync(folder)) await createHostKeys(folder)
  return readKeysIn(folder)
}

/**
 * Reads the keys of a folder, which it does not create.
 *
 * @throws Error with a sentence for the operator.
 */
async function readKeysIn(folder: string): Promise<HostKey[]> {
  const present = KEYS.map(([name]) => readHostKey(join(folder, name)))
  const next = nextFilesIn(folder).map((path) => readHostKey(path, false))
  return Promise.all([...present, ...next])
}

function nextFilesIn(folder: string): string[] {
  return KEYS.map(([name]) => join(folder, name + NEXT)).filter((path) => existsSync(path))
}

/**
 * Returns the keys of a folder.
 *
 * @throws Error with a sentence for the operator when the folder has none yet.
 */
export async function listHostKeys(folder: string): Promise<HostKey[]> {
  if (!existsSync(folder)) {
    throw new Error(
      `${folder} does not exist: the server makes the SSH host keys when --ssh-listen is on first`,
    )
  }
  return readKeysIn(folder)
}

/**
 * Writes the next keys beside the present ones, for clients to learn.
 *
 * @throws Error with a sentence for the operator, also when there are next keys already: clients may
 *   have learned them.
 */
export async function rotateHostKeys(folder: string): Promise<HostKey[]> {
  await listHostKeys(folder)
  const [known] = nextFilesIn(folder)
  if (known !== undefined)
    throw new Error(`${known} exists already: make the next keys present by ssh-keys activate`)
  for (const [name, type, bits] of KEYS) {
    const path = join(folder, name + NEXT)
    const draft = `${path}.${randomBytes(6).toString('hex')}`
    const pair = keygen.generateKeyPairSync(type, bits && { bits })
    await writeFile(draft, pair.private, { mode: 0o600, flush: true })
    await rename(draft, path)
  }
  return readKeysIn(folder)
}

/**
 * Makes the next keys present ones. After an interruption, the next call completes the change.
 *
 * @throws Error with a sentence for the operator, also when there are no next keys.
 */
export async function activateHostKeys(folder: string): Promise<HostKey[]> {
  await listHostKeys(folder)
  const files = nextFilesIn(folder)
  if (files.length === 0)
    throw new Error(`${folder} has no next SSH host keys: make them by ssh-keys rotate`)
  for (const path of files) await rename(path, path.slice(0, -NEXT.length))
  return readKeysIn(folder)
}

/** The public part of a host key. */
export function publicPartOf({ parsed, isActive }: HostKey): PublicHostKey {
  const data = parsed.getPublicSSH()
  return {
    type: parsed.type,
    key: data.toString('base64'),
    fingerprint: fingerprintOf(data),
    isActive,
  }
}

async function readHostKey(path: string, isActive = true): Promise<HostKey> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`the SSH host key ${path} cannot be read: ${codeOf(error)}`)
  })
  const parsed = keyParser.parseKey(text)
  if (parsed instanceof Error || parsed.getPrivatePEM() === null)
    throw new Error(`the SSH host key ${path} is no private key without a passphrase`)
  return { isActive, path, text, parsed }
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
