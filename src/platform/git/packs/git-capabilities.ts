import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { GitError } from '../core/errors.ts'
import { cleanEnvironment } from '../processes/child-process.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { readUploadPack } from './pack-services.ts'
import { FLUSH, packetAt, packetLine } from './packet-lines.ts'
import type { RefList } from './ref-list.ts'

/** Capabilities of the installed Git, the same for all clients and plain repositories. */
interface Capabilities {
  /** Identifies the program of Git. An update of the program replaces all members. */
  readonly program: string
  /** The whole advertisement of version 2. */
  version2: Buffer | undefined
  /** The capabilities of versions 0 and 1, before and after the value of `symref`. */
  version0: readonly [before: string, after: string] | undefined
}

/** Longest advertisement: more than that of the longest list of refs. */
const MAX_ADVERTISEMENT_BYTES = 4 * 1024 ** 2

const FIRST_LINE_OF_VERSION_2 = packetLine('version 2\n')

/** Capabilities that are different in each process (gitprotocol-v2(5), session-id). */
const CHANGING = /session-id=/

const CACHE = 'git capabilities'

/**
 * Returns the advertisement of version 2 of the protocol, which has no refs.
 *
 * @param id a repository with a plain configuration. One Git process reads it when the server does
 *   not know the installed Git.
 * @returns undefined when the installed Git answers in an unknown way.
 */
export async function advertisementOfVersion2(
  repositories: Repositories,
  id: number,
): Promise<Buffer | undefined> {
  const known = capabilitiesOf(repositories)
  if (known.version2) return known.version2
  const advertisement = await advertiseByGit(repositories, id, 'version=2')
  const isKnown =
    advertisement?.subarray(0, FIRST_LINE_OF_VERSION_2.length).equals(FIRST_LINE_OF_VERSION_2) &&
    advertisement.subarray(-FLUSH.length).equals(FLUSH) &&
    !CHANGING.test(advertisement.toString('latin1'))
  if (!isKnown || known !== capabilitiesOf(repositories)) return undefined
  known.version2 = advertisement
  return advertisement
}

/**
 * Returns the advertisement of version 0 of the protocol.
 *
 * @param id a repository with a plain configuration.
 * @param refs its refs, at least one.
 * @returns undefined when the installed Git answers in an unknown way, and for a repository from
 *   which an unknown Git cannot be learnt.
 */
export async function advertisementOfVersion0(
  repositories: Repositories,
  id: number,
  refs: RefList,
): Promise<Buffer[] | undefined> {
  const known = capabilitiesOf(repositories)
  if (known.version0) return [refs.advertise(capabilitiesFor(refs, known.version0)), FLUSH]
  const advertisement = await advertiseByGit(repositories, id, '')
  const version0 = advertisement && splitCapabilities(advertisement, refs)
  if (!version0 || known !== capabilitiesOf(repositories)) return undefined
  const rendered = [refs.advertise(capabilitiesFor(refs, version0)), FLUSH]
  // The rest of the list too has to be as this server writes it.
  if (!Buffer.concat(rendered).equals(advertisement)) return undefined
  known.version0 = version0
  return rendered
}

function capabilitiesOf({ caches }: Repositories): Capabilities {
  const program = findProgram()
  // This module alone uses the name.
  const known = caches.get(CACHE) as Capabilities | undefined
  if (known?.program === program) return known
  const unknown: Capabilities = { program, version2: undefined, version0: undefined }
  caches.set(CACHE, unknown)
  return unknown
}

/** Returns a text that changes with the program that processes of Git run. */
function findProgram(): string {
  for (const folder of cleanEnvironment().PATH?.split(delimiter) ?? []) {
    const path = join(folder, 'git')
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats?.isFile()) continue
    return `${path} ${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
  }
  return ''
}

function capabilitiesFor({ headTarget }: RefList, [before, after]: readonly [string, string]) {
  return headTarget === undefined
    ? `${before}${after}`
    : `${before} symref=HEAD:${headTarget}${after}`
}

/** Splits the capabilities of an advertisement at the value of `symref`. */
function splitCapabilities(
  advertisement: Buffer,
  { headTarget }: RefList,
): readonly [string, string] | undefined {
  const first = packetAt(advertisement, 0)
  if (first?.kind !== 'line' || headTarget === undefined) return undefined
  const line = advertisement.toString('latin1', first.start, first.end)
  const [, capabilities] = /^[^\0]*\0([^\0\n]*)\n$/.exec(line) ?? []
  const [before, after, ...more] = capabilities?.split(` symref=HEAD:${headTarget}`) ?? []
  if (before === undefined || after === undefined || more.length > 0) return undefined
  // The name of a branch ends before the next capability.
  if (!/^( |$)/.test(after) || CHANGING.test(before + after)) return undefined
  return [before, after]
}

async function advertiseByGit(
  repositories: Repositories,
  id: number,
  protocol: string,
): Promise<Buffer | undefined> {
  const request = { advertise: true, protocol, isLarge: false }
  try {
    const nothing = Buffer.alloc(0)
    return await readUploadPack(repositories, id, request, nothing, MAX_ADVERTISEMENT_BYTES)
  } catch (error) {
    // The process that answers the request reports the same.
    if (error instanceof GitError) return undefined
    throw error
  }
}
