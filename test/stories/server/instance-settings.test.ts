import { describe, expect, it } from 'vitest'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { VERSION } from '../../../src/forge/core/version.ts'
import { openForge, startForge } from '../../support/forge.ts'

const { users, rest, ask, grpc } = await openForge({
  settings: { maxPageSize: 20, maxAttachmentBytes: 5 * 1024 ** 2 + 1, registration: 'closed' },
})

describe('everybody reads the settings of the instance', () => {
  it('the page sizes are those that lists use', async () => {
    expect((await rest(undefined, 'GET', '/settings/api')).body).toEqual({
      max_response_items: 20,
      default_paging_num: 20,
      default_git_trees_per_page: 1000,
      default_max_blob_size: 10 * 1024 ** 2,
    })
    for (const number of Array.from({ length: 21 }, (_, index) => index))
      await ask(users.bob, 'POST', '/user/repos', { name: `plot-${number}` })
    expect(await ask(users.bob, 'GET', '/user/repos?limit=1000')).toHaveLength(20)
  })

  it('the features that the instance lacks are named', async () => {
    expect((await rest(undefined, 'GET', '/settings/repository')).body).toEqual({
      mirrors_disabled: false,
      http_git_disabled: false,
      migrations_disabled: false,
      time_tracking_disabled: true,
      lfs_disabled: false,
      git_hooks_disabled: true,
    })
    expect((await rest(undefined, 'GET', '/settings/ui')).body).toEqual({
      allowed_reactions: ['+1', '-1', 'laugh', 'hooray', 'confused', 'heart', 'rocket', 'eyes'],
    })
  })

  it('only administrators learn that the instance has Git hooks', async () => {
    const forge = await startForge({ settings: { gitHooks: true } })
    const seenBy = async (who: Parameters<typeof forge.ask>[0]) =>
      (await forge.ask(who, 'GET', '/settings/repository')).git_hooks_disabled
    expect(await seenBy(undefined)).toBe(true)
    expect(await seenBy(forge.users.bob)).toBe(true)
    expect(await seenBy(forge.users.ada)).toBe(false)
    await forge.stop()
  })

  it('the limits of attachments come from the settings', async () => {
    expect((await rest(undefined, 'GET', '/settings/attachment')).body).toEqual({
      enabled: true,
      allowed_types: '*/*',
      max_files: 250,
      max_size: 5,
    })
  })

  it('NodeInfo describes the server without any number about its users', async () => {
    const { status, body } = await rest(undefined, 'GET', '/nodeinfo')
    expect(status).toBe(200)
    expect(body).toEqual({
      version: '2.1',
      software: { name: 'branchline', version: VERSION },
      protocols: [],
      services: { inbound: [], outbound: [] },
      openRegistrations: false,
      usage: { users: {} },
      metadata: {},
    })
    expect(await grpc(InstanceService).getNodeInfo({})).toMatchObject({
      software: { name: 'branchline' },
      openRegistrations: false,
    })
  })
})

it('a private instance tells strangers nothing', async () => {
  const closed = await startForge({ settings: { privateInstance: true } })
  try {
    for (const path of ['/settings/api', '/settings/ui', '/nodeinfo']) {
      expect((await closed.rest(undefined, 'GET', path)).status).toBe(401)
      expect((await closed.rest(closed.users.carol, 'GET', path)).status).toBe(200)
    }
  } finally {
    await closed.stop()
  }
})
