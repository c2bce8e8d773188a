import { expect } from 'vitest'
import type { Forge } from './forge.ts'
import { pullForge } from './pull-forge.ts'

/** Makes the project `bob/engine` with each kind of record, by bob and carol. */
export async function populateProject(source: Forge): Promise<void> {
  const { bob, carol } = source.users
  const { ask, repository, change } = pullForge(source.server)
  const { path } = await repository(bob, 'engine', { private: true })
  await ask(bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  const { id: label } = await ask(bob, 'POST', `${path}/labels`, {
    name: 'kind/bug',
    color: '#aa0000',
    description: 'Broken',
    exclusive: true,
  })
  const { id: milestone } = await ask(bob, 'POST', `${path}/milestones`, {
    title: 'v1',
    description: 'First',
    due_on: '2030-01-02T00:00:00Z',
  })
  await ask(bob, 'POST', `${path}/issues`, {
    title: 'It leaks',
    body: 'See #2.',
    labels: [label],
    milestone,
  })
  const comment = await ask(carol, 'POST', `${path}/issues/1/comments`, { body: 'Confirmed' })
  await ask(bob, 'POST', `${path}/issues/comments/${comment.id}/reactions`, { content: '+1' })
  await ask(bob, 'POST', `${path}/issues`, { title: 'Closed one' })
  await ask(bob, 'PATCH', `${path}/issues/2`, { state: 'closed' })
  await ask(bob, 'PUT', `${path}/issues/2/lock`, { lock_reason: 'Resolved' })
  await ask(bob, 'POST', `${path}/issues/1/pin`)
  await ask(bob, 'POST', `${path}/issues/1/dependencies`, {
    owner: 'bob',
    repo: 'engine',
    index: 2,
  })
  await change(carol, path, 'merged')
  await ask(carol, 'POST', `${path}/pulls`, { title: 'Merged', head: 'merged', base: 'main' })
  await ask(bob, 'POST', `${path}/pulls/3/merge`, { Do: 'merge' })
  await change(carol, path, 'open')
  await ask(carol, 'POST', `${path}/pulls`, { title: 'WIP: Open', head: 'open', base: 'main' })
  await ask(bob, 'POST', `${path}/pulls/4/reviews`, {
    event: 'REQUEST_CHANGES',
    body: 'Not yet',
    comments: [{ path: 'open.txt', body: 'Why?', new_position: 1 }],
  })
  await ask(bob, 'DELETE', `${path}/branches/merged`)
  const release = await ask(bob, 'POST', `${path}/releases`, {
    tag_name: 'v1.0',
    name: 'One',
    body: 'Notes',
  })
  const form = new FormData()
  form.append('attachment', new Blob(['content of the file']), 'engine.txt')
  const url = `${source.server.url}/api/v1${path}/releases/${release.id}/assets`
  const headers = { authorization: bob.authorization }
  expect((await fetch(url, { method: 'POST', body: form, headers })).status).toBe(201)
}
