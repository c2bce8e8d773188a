import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { FairSlots } from '../../concurrency/fair-slots.ts'
import type { RefUpdate } from '../core/ref-names.ts'
import { createProcessSlots } from '../processes/process-slots.ts'

/** The hooks of a push in the order in which Git runs them (githooks(5)). */
export const HOOKS = ['pre-receive', 'update', 'post-receive'] as const
export type HookName = (typeof HOOKS)[number]

/** The hooks that ask the server. `proc-receive` runs after `pre-receive`. */
const ASKING = [...HOOKS, 'proc-receive'] as const

/** A question of a hook about a push. */
export interface PushQuestion {
  readonly hook: (typeof ASKING)[number]
  /**
   * For `pre-receive`, all updates that the client requests, each ref once. For `update`, one of
   * them. For `post-receive`, the updates that have been made. None for `proc-receive`, whose updates
   * are among those of `pre-receive`.
   */
  readonly updates: readonly RefUpdate[]
  /**
   * Folder of the pushed objects until the push is accepted (git-receive-pack(1), "Quarantine
   * environment").
   */
  readonly quarantine: string | undefined
  /** Environment variables by which Git passes push options to hooks (git-push(1)). */
  readonly pushOptions: Readonly<Record<string, string>>
}

/** The answer to a question of a hook. */
export interface PushAnswer {
  /** Whether Git accepts the push or, for `update`, the ref. Ignored for `post-receive`. */
  readonly accepted: boolean
  /** Lines that the client shows. */
  readonly lines: readonly string[]
  /** What `proc-receive` reports to Git. Default: none. */
  readonly report?: string
}

/** Answers a question. The signal aborts when the push has ended. */
export type AnswerPush = (question: PushQuestion, signal: AbortSignal) => Promise<PushAnswer>

/**
 * The script of each hook. The script sends the question to the server over an inherited
 * descriptor. Unlike a socket, the descriptor has no address and needs no authentication. When the
 * server has ended, the script refuses.
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
 * The script of `proc-receive` (githooks(5)). The server knows the commands from `pre-receive`, so the
 * script reads its input to the end, and prints the report of the server, whose special characters are
 * escaped.
 */
const REPORTING_SHIM = `#!/bin/sh
exec 4<&0
cat <&4 >/dev/null 3>&- &
{
  printf 'proc-receive\\0'
  env -0
  printf '\\0\\0'
} >&3 || exit 1
while IFS= read -r line <&3; do
  case $line in
    accept) wait; exit 0 ;;
    refuse) exit 1 ;;
    =*) printf '%b' "\${line#=}" ;;
    *) printf '%s\\n' "\${line#.}" >&2 ;;
  esac
done
exit 1
`

/** Longest question: several hundred thousand refs. Parsed, it takes four times as much memory. */
const MAX_QUESTION_CHARACTERS = 32 * 1024 * 1024

/**
 * Longest question that does not wait for the limit: 2000 refs. The questions of all pushes that
 * may run at a time take 64 MiB.
 */
const MAX_SMALL_CHARACTERS = 256 * 1024

/** Longer questions in memory at a time, in total and of one account. Others wait in pipes. */
const MAX_LARGE = 2
const MAX_LARGE_PER_ACCOUNT = 1

/** Each waits with a push, whose number is limited. */
const MAX_WAITING_LARGE = Number.POSITIVE_INFINITY

/** Message to a push that exceeds `MAX_QUESTION_CHARACTERS`. */
const TOO_MANY_REFS = 'the push moves too many refs at once: push them in parts'

/** Creates the slots of long questions. */
export function createReviewSlots(): FairSlots {
  return createProcessSlots({
    max: MAX_LARGE,
    maxPerHolder: MAX_LARGE_PER_ACCOUNT,
    maxWaiting: MAX_WAITING_LARGE,
  })
}

const ZEROS = /^0+$/

/**
 * Folders of hooks for `core.hooksPath`. Git starts a process for each existing hook, and `update`
 * for each ref.
 */
const FOLDERS: Readonly<Record<string, readonly PushQuestion['hook'][]>> = {
  review: ['pre-receive', 'proc-receive', 'post-receive'],
  scripts: ASKING,
}

/** Writes the hooks into subfolders of a folder. */
export async function installHooks(folder: string): Promise<void> {
  for (const [name, hooks] of Object.entries(FOLDERS)) {
    await mkdir(join(folder, name), { recursive: true })
    for (const hook of hooks) {
      // Pushes of another server may run the file at the same time.
      const file = join(folder, name, hook)
      const draft = `${file}.${randomUUID()}`
      const script = hook === 'proc-receive' ? REPORTING_SHIM : SHIM
      await writeFile(draft, script, { mode: 0o700 })
      await rename(draft, file)
    }
  }
}

/**
 * Returns the subfolder of the hooks of a push.
 *
 * @param all whether the hook `update` runs too, once for each ref.
 */
export function hooksFor(all: boolean): string {
  return all ? 'scripts' : 'review'
}

/**
 * Answers the questions of the hooks of a push, which arrive one by one.
 *
 * A long question is in memory until the push ends, so it holds a slot of the limit until then.
 *
 * @param limit runs work as soon as a long question may be read.
 * @param answer an error refuses the push without telling the client the reason.
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

/** Names of the variables by which Git passes push options. */
const PUSH_OPTION = /^GIT_PUSH_OPTION_(?:COUNT|\d+)$/

/**
 * Parses a question: the hook, its environment and an empty text, each followed by NUL, then lines
 * of `old new ref`, and NUL.
 */
function readQuestion(text: string): PushQuestion | undefined {
  const end = text.indexOf('\0\0') + 2
  if (end < 2 || end === text.length) return undefined
  const [name, ...entries] = text.slice(0, end - 2).split('\0')
  const hook = ASKING.find((known) => known === name)
  if (!hook) return undefined
  const variables = entries.map((entry) => {
    const equals = entry.indexOf('=')
    return [entry.slice(0, equals), entry.slice(equals + 1)] as const
  })
  // No trim: names of refs may end in white space that is not ASCII.
  const lines = text.slice(end, -1).replace(/\n$/, '')
  const updates = lines === '' ? [] : lines.split('\n').map(readUpdate)
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

/** Returns an answer that refuses a push for reasons of the server. */
export function refusal(texts: readonly string[]): PushAnswer {
  return { accepted: false, lines: errorLines(texts) }
}

/** Returns messages of the server as lines in the format that clients recognise. */
export function errorLines(texts: readonly string[]): string[] {
  if (texts.length === 0) return []
  return [
    'error:',
    ...texts.flatMap((text) => text.split('\n')).map((line) => `error: ${line}`),
    'error:',
  ]
}

/** Formats an answer. A dot distinguishes the lines of the message from the verdict. */
function textOf({ accepted, lines, report }: PushAnswer): string {
  const verdict = accepted ? 'accept' : 'refuse'
  const reported = report === undefined ? [] : [`=${escaped(report)}`]
  return `${[...lines.map((line) => `.${line}`), ...reported, verdict].join('\n')}\n`
}

/** Escapes characters for `%b` of printf(1). */
function escaped(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is about.
    /[\u0000-\u001F\\]/g,
    (character) => `\\0${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
}
