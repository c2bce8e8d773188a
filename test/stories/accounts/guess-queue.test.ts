import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { signIn } from '../../support/server.ts'

const { server } = await openForge()

/** Twice as many peers as are needed to take all places where guesses wait. */
const PEERS = 14
const GUESSES = 300

it('a peer signs in while others have taken all places where guesses wait', async () => {
  const { guesses } = server.app
  const running: (() => void)[] = []
  const slow = () => new Promise<string>((resolve) => running.push(() => resolve('right')))
  for (let i = 0; i < PEERS * GUESSES; i++)
    guesses.attempt('bob', `192.0.2.${1 + (i % PEERS)}`, slow).catch(() => {})
  await expect.poll(() => running.length).toBe(10)

  // Others keep the places until the sign-in has ended. Each of their guesses ends in its turn.
  let isEnded = false
  const signedIn = signIn(server.url, 'bob').finally(() => {
    isEnded = true
  })
  signedIn.catch(() => {})
  while (!isEnded) {
    await setImmediate()
    running.shift()?.()
  }
  expect((await signedIn).username).toBe('bob')
})
