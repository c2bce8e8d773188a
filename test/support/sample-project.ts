import { expect, vi } from 'vitest'
import { pullForge } from './pull-forge.ts'
import type { Actor } from './server.ts'

/** What a busy machine takes. */
const PATIENCE = { timeout: 60_000 }

/** A server with the API of Gitea, and who has an account there. */
export interface SampleSource {
  readonly url: string
  readonly users: { readonly bob: Actor; readonly carol: Actor }
}

/** Uploads a file to a place of the API. @returns the attachment or the asset. */
async function upload(
  source: SampleSource,
  who: Actor,
  path: string,
  [name, content]: readonly [name: string, content: string],
): Promise<{ uuid: string; browser_download_url: string }> {
  const form = new FormData()
  form.append('attachment', new Blob([content]), name)
  const response = await fetch(`${source.url}/api/v1${path}`, {
    method: 'POST',
    body: form,
    headers: { authorization: who.authorization },
  })
  expect(response.status).toBe(201)
  return (await response.json()) as { uuid: string; browser_download_url: string }
}

/** Makes the project `bob/engine` with each kind of record, by bob and carol. */
export async function populateProject(source: SampleSource): Promise<void> {
  const { bob, carol } = source.users
  const { ask, repository, change } = pullForge(source)
  const { path } = await repository(bob, 'engine', { private: true })
  await ask(bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  // Gitea sometimes hides the repository from a new collaborator for a moment.
  await vi.waitFor(() => ask(carol, 'GET', path), PATIENCE)
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
  const commentPath = `${path}/issues/comments/${comment.id}`
  await ask(bob, 'POST', `${commentPath}/reactions`, { content: '+1' })
  const trace = await upload(source, carol, `${commentPath}/assets`, ['trace.txt', 'a trace'])
  await ask(carol, 'PATCH', commentPath, { body: `Confirmed: ${trace.browser_download_url}` })
  const log = await upload(source, bob, `${path}/issues/1/assets`, ['leak.txt', 'a log'])
  await ask(bob, 'PATCH', `${path}/issues/1`, {
    body: `See #2 and [the log](/attachments/${log.uuid}).`,
  })
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
  // Gitea looks for conflicts in the background.
  const isChecked = async () =>
    expect(await ask(bob, 'GET', `${path}/pulls/3`)).toMatchObject({ mergeable: true })
  await vi.waitFor(isChecked, PATIENCE)
  await ask(bob, 'POST', `${path}/pulls/3/merge`, { Do: 'merge' })
  await change(carol, path, 'open')
  await ask(carol, 'POST', `${path}/pulls`, { title: 'WIP: Open', head: 'open', base: 'main' })
  await ask(bob, 'POST', `${path}/pulls/4/reviews`, {
    event: 'REQUEST_CHANGES',
    body: 'Not yet',
    comments: [{ path: 'open.txt', body: 'Why?', new_position: 1 }],
  })
  const plan = await upload(source, bob, `${path}/issues/4/assets`, ['plan.txt', 'a plan'])
  await ask(carol, 'PATCH', `${path}/pulls/4`, { body: `The plan: /attachments/${plan.uuid}` })
  await ask(bob, 'DELETE', `${path}/branches/merged`)
  const release = await ask(bob, 'POST', `${path}/releases`, {
    tag_name: 'v1.0',
    name: 'One',
    body: 'Notes',
  })
  const assets = `${path}/releases/${release.id}/assets`
  await upload(source, bob, assets, ['engine.txt', 'content of the file'])
}
