import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { RefUpdate } from './refs.ts'

/** A push whose objects have arrived, in quarantine, and whose refs have not moved. */
export interface ProposedPush {
  /** As the client asks for them, each ref once. */
  readonly updates: readonly RefUpdate[]
  /** Folder of the objects that came with the push (git-receive-pack(1), "Quarantine environment"); empty when none did. */
  readonly quarantine: string
}

/** Undefined accepts a push; lines of text refuse it, every ref of it, and are shown to who pushes. */
export type PushVerdict = readonly string[] | undefined

/**
 * What git runs before it moves refs (githooks(5), pre-receive). It only passes the question on to the server, over the descriptor
 * that it inherits: there is no address to find and no identity to forge, as there would be with a socket. A server that is gone
 * refuses.
 */
const SHIM = `#!/bin/sh
{ printf '%s\\n' "$GIT_QUARANTINE_PATH"; cat; echo; } >&3 || exit 1
while IFS= read -r line <&3; do
  case $line in
    accept) exit 0 ;;
    refuse) exit 1 ;;
    *) printf '%s\\n' "\${line#.}" >&2 ;;
  esac
done
exit 1
`

/** Most text of a question, a million refs: what does not fit is refused rather than held in memory. */
const MAX_QUESTION_CHARACTERS = 128 * 1024 * 1024

const ZEROS = /^0+$/

/** Puts the hooks into a folder, for `core.hooksPath`. */
export async function installHooks(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'pre-receive')
  await writeFile(file, SHIM)
  await chmod(file, 0o700)
}

/**
 * Answers the question of the hook on the other end of a stream.
 *
 * @param review decides. What it throws refuses the push, without a word about why.
 */
export function answerHook(channel: Duplex, review: (push: ProposedPush) => Promise<PushVerdict>): void {
  let question = ''
  channel.setEncoding('utf8').on('data', (text: string) => {
    question += text
    if (question.length > MAX_QUESTION_CHARACTERS) channel.destroy()
    if (!question.endsWith('\n\n')) return
    const push = readQuestion(question)
    question = ''
    review(push)
      .catch(() => ['the server failed'])
      .then((verdict) => channel.write(answerOf(verdict)))
  })
}

/** The path of the quarantine on the first line, `old new ref` on each following one. */
function readQuestion(question: string): ProposedPush {
  const [quarantine = '', ...lines] = question.trimEnd().split('\n')
  const updates = lines.map((line) => {
    const [from = '', to = '', name = ''] = line.split(' ')
    return { name, from: ZEROS.test(from) ? undefined : from, to: ZEROS.test(to) ? undefined : to }
  })
  return { quarantine, updates }
}

/** Lines for people begin with a dot, so that none of them is taken for the verdict. They have the form that clients know. */
function answerOf(verdict: PushVerdict): string {
  if (verdict === undefined) return 'accept\n'
  const lines = verdict.flatMap((text) => text.split('\n')).map((line) => `.error: ${line}`)
  return `${['.error:', ...lines, '.error:', 'refuse'].join('\n')}\n`
}
