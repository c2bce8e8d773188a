import type { LfsOperation } from '../../forge/repositories/lfs/lfs-links.ts'
import type { GitService, GitTarget } from '../git-http/git-access.ts'

/** A service of Git: those of HTTP, and archives of files. */
export type SshService = GitService | 'git-upload-archive'

/** The repository and the service that a client asks for. Names are as the client sent them. */
export interface SshTarget extends Omit<GitTarget, 'service'> {
  readonly service: SshService
}

/** The repository and the operation of Git LFS. */
export interface LfsTarget extends Pick<GitTarget, 'owner' | 'name'> {
  readonly operation: LfsOperation
}

/** What a client asks for. */
export type SshCommand =
  | { readonly kind: 'shell' }
  | { readonly kind: 'git'; readonly target: SshTarget }
  /** Credentials for Git LFS over HTTP, or transfers of Git LFS over SSH. */
  | { readonly kind: 'lfs'; readonly verb: LfsVerb; readonly target: LfsTarget }
  | { readonly kind: 'invalid'; readonly text: string; readonly code: number }

/** An unknown command, as shells answer. */
const NOT_FOUND = 127

/** The commands of Git LFS. */
const LFS_VERBS = ['git-lfs-authenticate', 'git-lfs-transfer'] as const

export type LfsVerb = (typeof LFS_VERBS)[number]

/** A path and an operation, which the client may have quoted. */
const LFS_ARGUMENTS = /^(.+) (?:'(download|upload)'|(download|upload))$/s

const VERBS: ReadonlyMap<string, SshService> = new Map([
  ['git-upload-pack', 'git-upload-pack'],
  ['git-receive-pack', 'git-receive-pack'],
  ['git-upload-archive', 'git-upload-archive'],
  ['git upload-pack', 'git-upload-pack'],
  ['git receive-pack', 'git-receive-pack'],
  ['git upload-archive', 'git-upload-archive'],
])

/** The verb, which may be two words, and the words behind it. */
const WORDS = /^(git [a-z-]+|[^ ]+)(?: (.*))?$/s

/** A path without spaces and quotes, or one in quotes as Git writes it (`sq_quote_buf`). */
const BARE = /^[^\s'"\\;$`|&<>()*?#~]+$/
const QUOTED = /^'((?:[^']|'\\['!]')*)'$/s

/** Neither part is `.` or `..`, also before `.git`. */
const PATH = /^\/?(?!\.{1,2}\/)([^/]+)\/(?!\.{1,2}(?:\.git)?$)([^/]+)$/i

const NO_PATH = 'invalid repository path'

const MAX_PATH_BYTES = 512
const MAX_VERB_CHARACTERS = 64

/** Reads the command of a client. No part of it ever reaches a shell. */
export function readSshCommand(command: string): SshCommand {
  if (command === '') return { kind: 'shell' }
  const [, verb = '', argument = ''] = WORDS.exec(command) ?? []
  const lfsVerb = LFS_VERBS.find((known) => known === verb)
  if (lfsVerb) return readLfs(lfsVerb, argument)
  const service = VERBS.get(verb)
  if (!service)
    return { kind: 'invalid', text: unknown(/^\S*/.exec(command)?.[0] ?? ''), code: NOT_FOUND }
  // Spaces that belong to no word: no name begins or ends so.
  if (argument !== argument.trim()) return INVALID_PATH
  const path = readWord(argument)
  // More than a verb and a path, for example what a shell would run.
  if (path === undefined) return { kind: 'invalid', text: unknown(verb), code: 1 }
  const place = readPlace(path)
  return place ? { kind: 'git', target: { ...place, service } } : INVALID_PATH
}

const INVALID_PATH: SshCommand = { kind: 'invalid', text: NO_PATH, code: 1 }

/** Returns the answer to a command of Git LFS where Git LFS is off, as of a server without it. */
export function lfsNotFound(verb: LfsVerb): { readonly text: string; readonly code: number } {
  return { text: `${verb}: not found`, code: NOT_FOUND }
}

function readLfs(verb: LfsVerb, argument: string): SshCommand {
  const [, word = '', quoted, bare] = LFS_ARGUMENTS.exec(argument) ?? []
  const operation = quoted ?? bare
  const path = readWord(word)
  if (path === undefined || (operation !== 'download' && operation !== 'upload'))
    return { kind: 'invalid', text: unknown(verb), code: 1 }
  const place = readPlace(path)
  return place ? { kind: 'lfs', verb, target: { ...place, operation } } : INVALID_PATH
}

/** Returns the repository of a path; undefined for any other path. */
function readPlace(path: string): Pick<GitTarget, 'owner' | 'name'> | undefined {
  const isPath = Buffer.byteLength(path) <= MAX_PATH_BYTES && !/\p{Cc}/u.test(path)
  const [, owner, name] = (isPath && PATH.exec(path)) || []
  if (owner === undefined || name === undefined) return undefined
  return { owner, name: name.replace(/\.git$/i, '') }
}

function unknown(verb: string): string {
  return `unknown command: ${verb.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_VERB_CHARACTERS)}`
}

/** Returns the only word of an argument; undefined when the argument has more than one. */
function readWord(argument: string): string | undefined {
  const quoted = QUOTED.exec(argument)?.[1]
  if (quoted !== undefined) return quoted.replace(/'\\(['!])'/g, '$1')
  return argument === '' || BARE.test(argument) ? argument : undefined
}
