import { describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'

const { users, ask, rest } = await openForge()
const { bob, carol } = users

async function repository(name: string): Promise<string> {
  await ask(bob, 'POST', '/user/repos', { name })
  const path = `/repos/bob/${name}`
  for (const label of ['bug', 'later'])
    await ask(bob, 'POST', `${path}/labels`, { name: label, color: '#ff0000' })
  await ask(carol, 'POST', `${path}/issues`, { title: 'Broken' })
  return path
}

const labelsOf = ({ labels }: { labels: { name: string }[] }) => labels.map(({ name }) => name)

const commentsOf = async (path: string) =>
  (await ask(bob, 'GET', `${path}/issues/1/comments`)).map(({ body }: { body: string }) => body)

describe('an edit of an issue', () => {
  it('replaces the labels and adds a comment', async () => {
    const path = await repository('whole')
    const edit = { state: 'closed', labels: ['bug', 'unknown'], comment: 'Repaired.' }
    const edited = await ask(bob, 'PATCH', `${path}/issues/1`, edit)
    expect(edited).toMatchObject({ state: 'closed', comments: 1 })
    expect(labelsOf(edited)).toEqual(['bug'])
    expect(await commentsOf(path)).toEqual(['Repaired.'])
    expect(labelsOf(await ask(bob, 'PATCH', `${path}/issues/1`, { title: 'New' }))).toEqual(['bug'])
    expect(labelsOf(await ask(bob, 'PATCH', `${path}/issues/1`, { labels: [] }))).toEqual([])
  })

  it('ignores the labels of an author who may not write', async () => {
    const path = await repository('of-author')
    const edit = { body: 'More.', labels: ['bug'], comment: 'See above.' }
    const edited = await ask(carol, 'PATCH', `${path}/issues/1`, edit)
    expect(edited).toMatchObject({ body: 'More.', labels: [], comments: 1 })
  })

  it('changes nothing when the comment is refused', async () => {
    const path = await repository('locked')
    await ask(bob, 'PUT', `${path}/issues/1/lock`, {})
    const edit = { state: 'closed', comment: 'Please.' }
    const { status, body } = await rest(carol, 'PATCH', `${path}/issues/1`, edit)
    expect([status, body.message]).toEqual([403, 'You cannot comment on a locked issue.'])
    expect(await ask(bob, 'GET', `${path}/issues/1`)).toMatchObject({ state: 'open', comments: 0 })
  })

  it('refuses labels that are neither numbers nor names', async () => {
    const path = await repository('malformed')
    const edit = { title: 'x', labels: [true] }
    const { status, body } = await rest(bob, 'PATCH', `${path}/issues/1`, edit)
    expect([status, body.message]).toEqual([400, 'a label must be an integer or a string'])
    expect(await ask(bob, 'GET', `${path}/issues/1`)).toMatchObject({ title: 'Broken' })
  })
})
