import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { createLimited, type Limited } from '../../concurrency/limited.ts'
import type { RefUpdate } from '../core/ref-names.ts'

/**
 * What Git runs when refs of a push are about to move, move and have moved (githooks(5)), in this
 * order.
 */
export const HOOKS = ['pre-receive', 'update', 'post-receive'] as const
export type HookName = (typeof HOOKS)[number]

/** A push, at one of the points at which Git asks about it. */
export interface PushQuestion {
  readonly hook: HookName
  /**
   * For `pre-receive` as the client asks for them, each ref once; for `update` one of them; at last
   * those that have moved.
   */
  readonly updates: readonly RefUpdate[]
  /**
   * Folder of the objects that came with the push, until they are let in (git-receive-pack(1),
   * "Quarantine environment").
   */
  readonly quarantine: string | undefined
  /** What the client says beside (git-push(1), `--push-option`), as Git hands it to hooks. */
  readonly pushOptions: Readonly<Record<string, string>>
}

/**
 * Lines for who pushes, and whether it may go on: all of it, or the one ref. At the end nothing
 * depends on that.
 */
export interface PushAnswer {
  readonly accepted: boolean
  readonly lines: readonly string[]
}

/** Answers a question. The signal says that nobody waits for it any more. */
export type AnswerPush = (question: PushQuestion, signal: AbortSignal) => Promise<PushAnswer>

/**
 * What Git runs as each of the hooks. It only passes the question on to the server, over the
 * descriptor that it inherits: there is no address to find and no identity to forge, as there would
 * be with a socket. A server that is gone refuses.
 */
const SHIM = `#!/bin/sh
hook=\${0##*/}
{
  printf '%s\\0' "$hook"
  env -0
  printf '\\0'
  if [ "$hook" = update ]; then printf '%s %s %s\\n' "$2" "$3" "$1"; else cat; fi
  printf '\\0'
} >&3 || exit 1
while IFS= read -r line <&3; do
  case $line in
    accept) exit 0 ;;
    refuse) exit 1 ;;
    *) printf '%s\\n' "\${line#.}" >&2 ;;
  esac
done
exit 1
`

/**
 * Most text of a question, some hundred thousand refs. In memory what is made of it takes four
 * times as much.
 */
const MAX_QUESTION_CHARACTERS = 32 * 1024 * 1024

/**
 * Most text of a question that waits for nobody: two thousand refs. As many of these as there may
 * be pushes fit into 64 MiB.
 */
const MAX_SMALL_CHARACTERS = 256 * 1024

/**
 * Longer questions in memory at a time, and of one account. All others wait, in the pipes of their
 * gits.
 */
const MAX_LARGE = 2
const MAX_LARGE_PER_ACCOUNT = 1

/** Said to a push that moves more refs than that. */
const TOO_MANY_REFS = 'the push moves too many refs at once: push them in parts'

/** @returns places for long questions. */
export function createReviewLimits(): Limited {
  return createLimited({ maxRunning: MAX_LARGE, maxRunningPerKey: MAX_LARGE_PER_ACCOUNT })
}

const ZEROS = /^0+$/

/**
 * Folders of hooks, for `core.hooksPath`. Git starts a process for each hook that there is, and
 * `update` for each ref.
 */
const FOLDERS: Readonly<Record<string, readonly HookName[]>> = {
  review: ['pre-receive', 'post-receive'],
  scripts: HOOKS,
}

/** Puts the hooks into folders below one. */
export async function installHooks(folder: string): Promise<void> {
  for (const [name, hooks] of Object.entries(FOLDERS)) {
    await mkdir(join(folder, name), { recursive: true })
    for (const hook of hooks) {
      const file = join(folder, name, hook)
      await writeFile(file, SHIM)
      await chmod(file, 0o700)
    }
  }
}

/**
 * Where the hooks of a push are, below the folder that they were put into.
 *
 * @param all whether Git is to ask about each ref, too.
 */
export function hooksFor(all: boolean): string {
  return all ? 'scripts' : 'review'
}

/**
 * Answers the questions of the hooks on the other end of a stream, which come one after the other.
 *
 * A long question waits for the limit and counts against it until the push has ended, because the
 * question is in memory until then.
 *
 * @param limit runs work as soon as a long question may be read.
 * @param answer what it throws refuses, without a word about why.
 */
export function answerHooks(
  channel: Duplex,
  limit: (work: () => Promise<void>) => Promise<void>,
  answer: AnswerPush,
): void {
  const gone = new AbortController()
  const closed = new Promise<void>((resolve) => {
    channel.on('close', resolve)
  })
  let question = ''
  let isTooLong = false
  let isLong = false
  channel.on('close', () => {
    gone.abort()
    question = ''
  })
  const waitForLimit = () => {
    isLong = true
    channel.pause()
    void limit(() => {
      channel.resume()
      return closed
    })
  }
  channel.setEncoding('utf8').on('data', (text: string) => {
    isTooLong ||= question.length + text.length > MAX_QUESTION_CHARACTERS
    question = isTooLong ? '' : question + text
    if (question.length > MAX_SMALL_CHARACTERS && !isLong) waitForLimit()
    if (!text.endsWith('\0')) return
    if (isTooLong) {
      isTooLong = false
      channel.write(textOf(refusal([TOO_MANY_REFS])))
      return
    }
    const asked = readQuestion(question)
    if (!asked) return
    question = ''
    answer(asked, gone.signal)
      .catch(() => refusal(['the server failed']))
      .then((given) => channel.write(textOf(given)))
  })
}

/** Names of variables by which Git hands on what the client says. */
const PUSH_OPTION = /^GIT_PUSH_OPTION_(?:COUNT|\d+)$/

/**
 * The hook, its environment and an empty text, each ended by a null byte; then `old new ref` on
 * each line, and a null byte.
 */
function readQuestion(text: string): PushQuestion | undefined {
  const end = text.indexOf('\0\0') + 2
  if (end < 2 || end === text.length) return undefined
  const [name, ...entries] = text.slice(0, end - 2).split('\0')
  const hook = HOOKS.find((known) => known === name)
  if (!hook) return undefined
  const variables = entries.map((entry) => {
    const equals = entry.indexOf('=')
    return [entry.slice(0, equals), entry.slice(equals + 1)] as const
  })
  // Names of refs may end in any white space that is not ASCII.
  const updates = text.slice(end, -1).replace(/\n$/, '').split('\n').map(readUpdate)
  return {
    hook,
    updates,
    quarantine: variables.find(([variable]) => variable === 'GIT_QUARANTINE_PATH')?.[1],
    pushOptions: Object.fromEntries(variables.filter(([variable]) => PUSH_OPTION.test(variable))),
  }
}

function readUpdate(line: string): RefUpdate {
  const [from = '', to = '', name = ''] = line.split(' ')
  return { name, from: ZEROS.test(from) ? undefined : from, to: ZEROS.test(to) ? undefined : to }
}

/** An answer by which the server itself refuses, in the form that clients know. */
export function refusal(texts: readonly string[]): PushAnswer {
  return { accepted: false, lines: errorLines(texts) }
}

/** Sentences of the server, as lines in the form that clients know; none for none. */
export function errorLines(texts: readonly string[]): string[] {
  if (texts.length === 0) return []
  return [
    'error:',
    ...texts.flatMap((text) => text.split('\n')).map((line) => `error: ${line}`),
    'error:',
  ]
}

/** Lines for people begin with a dot, so that none of them is taken for the verdict. */
function textOf({ accepted, lines }: PushAnswer): string {
  const verdict = accepted ? 'accept' : 'refuse'
  return `${[...lines.map((line) => `.${line}`), verdict].join('\n')}\n`
}
