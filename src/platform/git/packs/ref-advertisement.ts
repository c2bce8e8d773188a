import { readPlainHead } from '../refs/plain-repositories.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { advertisementOfVersion0, advertisementOfVersion2 } from './git-capabilities.ts'
import { packetAt, packetLine } from './packet-lines.ts'
import type { RefQuestion } from './ref-list.ts'
import { currentRefs } from './ref-snapshots.ts'

/** A request to the service of fetches that may ask for refs. */
export interface RefRequest {
  /** Value of the header `Git-Protocol`. Empty if absent. */
  readonly protocol: string
  /** The decoded body. Undefined for a request for the advertisement. */
  readonly body: Buffer | undefined
}

/** Versions of the protocol by the header. Other values may have keys that a later Git knows. */
const VERSIONS: ReadonlyMap<string, 0 | 1 | 2> = new Map([
  ['', 0],
  ['version=0', 0],
  ['version=1', 1],
  ['version=2', 2],
])

const VERSION_1 = packetLine('version 1\n')

/** Lines before the delimiter that change nothing in the answer. */
const HARMLESS_CAPABILITY = /^(agent=[\x21-\x7e]+|object-format=sha1)$/

/**
 * Answers a request for refs with the bytes that `git upload-pack` would print, without a process
 * once the repository is known.
 *
 * @returns undefined for every other request, and when only Git can answer.
 */
export async function answerRefs(
  repositories: Repositories,
  id: number,
  { protocol, body }: RefRequest,
): Promise<Buffer[] | undefined> {
  const version = VERSIONS.get(protocol)
  if (version === undefined) return undefined
  if (body !== undefined) {
    const question = version === 2 ? readQuestion(body) : undefined
    return question && (await currentRefs(repositories, id))?.select(question)
  }
  if (version === 2) {
    if (readPlainHead(repositoryPath(repositories, id)) === undefined) return undefined
    const advertisement = await advertisementOfVersion2(repositories, id)
    return advertisement && [advertisement]
  }
  const refs = await currentRefs(repositories, id)
  // What Git says about an empty repository depends on its version.
  if (!refs || refs.isEmpty) return undefined
  const advertisement = await advertisementOfVersion0(repositories, id, refs)
  return advertisement && (version === 1 ? [VERSION_1, ...advertisement] : advertisement)
}

/**
 * Reads a request of the command `ls-refs` (gitprotocol-v2(5)). Returns undefined for everything
 * that Git clients do not send, which Git answers or refuses itself.
 */
function readQuestion(body: Buffer): RefQuestion | undefined {
  const sections: [string[], string[]] = [[], []]
  let [lines] = sections
  let packet = packetAt(body, 0)
  for (; packet && packet.kind !== 'flush'; packet = packetAt(body, packet.end)) {
    if (packet.kind === 'line') lines.push(textOf(body, packet))
    else if (lines === sections[1]) return undefined
    else lines = sections[1]
  }
  if (packet?.end !== body.length) return undefined
  const [[command, ...capabilities], parameters] = sections
  if (command !== 'command=ls-refs') return undefined
  if (!capabilities.every((line) => HARMLESS_CAPABILITY.test(line))) return undefined
  const names = capabilities.map((line) => line.split('=')[0])
  return new Set(names).size === names.length ? questionOf(parameters) : undefined
}

function questionOf(parameters: readonly string[]): RefQuestion | undefined {
  const question = { peel: false, symrefs: false, unborn: false, prefixes: [] as string[] }
  for (const line of parameters) {
    if (line === 'peel' || line === 'symrefs' || line === 'unborn') question[line] = true
    else if (line.startsWith('ref-prefix '))
      question.prefixes.push(line.slice('ref-prefix '.length))
    else return undefined
    // Git reads lines up to a zero byte.
    if (line.includes('\0')) return undefined
  }
  return question
}

/** Returns a line in Latin-1 without its line feed, which is optional. */
function textOf(body: Buffer, { start, end }: { start: number; end: number }): string {
  return body.toString('latin1', start, end).replace(/\n$/, '')
}
