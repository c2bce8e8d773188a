import type { GitService, GitTarget } from '../git-http/git-access.ts'

/** What a client asks for. */
export type SshCommand =
  | { readonly kind: 'shell' }
  | { readonly kind: 'git'; readonly target: GitTarget }
  | { readonly kind: 'invalid'; readonly text: string; readonly code: number }

/** An unknown command, as shells answer. */
const NOT_FOUND = 127

const VERBS: ReadonlyMap<string, GitService> = new Map([
  ['git-upload-pack', 'git-upload-pack'],
  ['git-receive-pack', 'git-receive-pack'],
  ['git upload-pack', 'git-upload-pack'],
  ['git receive-pack', 'git-receive-pack'],
])

/** The verb, which may be two words, and the words behind it. */
const WORDS = /^(git [a-z-]+|[^ ]+)(?: (.*))?$/s

/** A path without spaces and quotes, or one in quotes as Git writes it (`sq_quote_buf`). */
const BARE = /^[^\s'"\\;$`|&<>()*?#~]+$/
const QUOTED = /^'((?:[^']|'\\['!]')*)'$/s

const PATH = /^\/?([^/]+)\/([^/]+)$/

const MAX_PATH_BYTES = 512
const MAX_VERB_CHARACTERS = 64

/** Reads the command of a client. No part of it ever reaches a shell. */
export function readSshCommand(command: string): SshCommand {
  if (command === '') return { kind: 'shell' }
  const [, verb = '', argument = ''] = WORDS.exec(command) ?? []
  const service = VERBS.get(verb)
  if (!service) {
    const name = (/^\S*/.exec(command)?.[0] ?? '').replace(/[^\x21-\x7e]/g, '')
    const text = `unknown command: ${name.slice(0, MAX_VERB_CHARACTERS)}`
    return { kind: 'invalid', text, code: NOT_FOUND }
  }
  const [, owner, name] = PATH.exec(readPath(argument) ?? '') ?? []
  if (owner === undefined || name === undefined)
    return { kind: 'invalid', text: 'invalid repository path', code: 1 }
  return { kind: 'git', target: { owner, name: name.replace(/\.git$/i, ''), service } }
}

function readPath(argument: string): string | undefined {
  const quoted = QUOTED.exec(argument)?.[1]
  const path = quoted?.replace(/'\\(['!])'/g, '$1') ?? (BARE.test(argument) ? argument : undefined)
  const isValid =
    path !== undefined && Buffer.byteLength(path) <= MAX_PATH_BYTES && !/\p{Cc}/u.test(path)
  return isValid ? path : undefined
}
