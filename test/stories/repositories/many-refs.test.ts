import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'

/** Of lines of 300 characters: more text than a review takes. */
const REFS = 120_000

const forge = await openForge()

it('a push of more refs than are reviewed at once is refused with a reason, and changes nothing', {
  timeout: 120_000,
}, async () => {
  const { ask, users, server } = forge
  await ask(users.bob, 'POST', '/user/repos', { name: 'refs', auto_init: true })
  const { commit } = await ask(users.bob, 'GET', '/repos/bob/refs/branches/main')
  const lines = Array.from({ length: REFS }, (_, i) => {
    const name = `refs/heads/${String(i).padStart(210, 'x')}`
    const text = `${'0'.repeat(40)} ${commit.id} ${name}${i === 0 ? '\0report-status side-band-64k' : ''}`
    return (text.length + 4).toString(16).padStart(4, '0') + text
  })
  const pack = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  const body = Buffer.concat([
    Buffer.from(`${lines.join('')}0000`),
    pack,
    createHash('sha1').update(pack).digest(),
  ])
  const answer = await fetch(`${server.url}/bob/refs.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: users.bob.authorization,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body,
  })
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('push them in parts')
  expect(await ask(users.bob, 'GET', '/repos/bob/refs/branches')).toHaveLength(1)
})
