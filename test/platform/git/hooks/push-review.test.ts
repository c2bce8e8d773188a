import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { accountHolder } from '../../../../src/platform/concurrency/holders.ts'
import {
  answerHooks,
  createReviewSlots,
  type PushQuestion,
} from '../../../../src/platform/git/hooks/push-review.ts'

const MIB = 2 ** 20
const ID = '1'.repeat(40)
const ZEROS = '0'.repeat(40)

/** What a hook writes: its name, its environment, and so many characters of refs that are made. */
function questionOf(characters: number): string {
  const line = `${ZEROS} ${ID} refs/heads/${'x'.repeat(200)}\n`
  return `pre-receive\0PATH=/bin\0\0${line.repeat(Math.ceil(characters / line.length))}\0`
}

/** The server's end of the descriptor of a push. */
function channelOf() {
  const answers: string[] = []
  const channel = new Duplex({
    read() {},
    write(chunk, _, done) {
      answers.push(String(chunk))
      done()
    },
  })
  return { channel, answers, ask: (text: string) => channel.push(text) }
}

/** Lets everything go on that waits for nothing but its turn. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate()
}

describe('long questions of pushes', () => {
  it('are limited to one of each account in memory; short ones do not wait', async () => {
    const slots = createReviewSlots()
    const asked: string[] = []
    const begin = (name: string, accountId: number) => {
      const push = channelOf()
      answerHooks(
        push.channel,
        (work) => slots.run(accountHolder(accountId), work),
        async ({ updates }: PushQuestion) => {
          asked.push(`${name} ${updates.length > 2000 ? 'long' : 'short'}`)
          return { accepted: true, lines: [] }
        },
      )
      // As a pipe has it, in pieces: what follows the first is not read before there is a place.
      const text = questionOf(MIB)
      push.ask(text.slice(0, MIB / 2))
      return { ...push, finish: () => push.ask(text.slice(MIB / 2)) }
    }
    const pushes = [
      begin('one of ada', 1),
      begin('two of ada', 1),
      begin('one of bob', 2),
      begin('one of carol', 3),
      begin('one of dan', 4),
    ]
    await settled()
    for (const { finish } of pushes) finish()
    await settled()
    expect(asked).toEqual(['one of ada long', 'one of bob long', 'one of carol long'])
    const short = channelOf()
    answerHooks(
      short.channel,
      (work) => slots.run(accountHolder(1), work),
      async () => ({ accepted: false, lines: ['no'] }),
    )
    short.ask(questionOf(1))
    await settled()
    expect(short.answers).toEqual(['.no\nrefuse\n'])
    // The place is held until the push has ended: what it says is in memory until then.
    pushes[0]?.channel.destroy()
    await settled()
    expect(asked.slice(3)).toEqual(['one of dan long'])
    pushes[2]?.channel.destroy()
    await settled()
    expect(asked.slice(4)).toEqual(['two of ada long'])
  })

  it('are refused with a reason when they are too long', async () => {
    const slots = createReviewSlots()
    const { channel, answers, ask } = channelOf()
    answerHooks(
      channel,
      (work) => slots.run(accountHolder(1), work),
      async () => ({ accepted: true, lines: [] }),
    )
    ask(questionOf(33 * MIB))
    await settled()
    expect(answers.join('')).toContain('push them in parts')
    expect(answers.join('')).toMatch(/refuse\n$/)
  })
})
