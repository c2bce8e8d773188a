import { describe, expect, it } from 'vitest'
import { startForge } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'
import { migrationOf, tellImport } from './imported-project.ts'

describe('an import of a project', () => {
  const story = tellImport(async () => {
    const { server, users, stop } = await startForge()
    const token = await createToken(server.url, users.bob, ['all'])
    return { url: server.url, users, token, stop }
  })

  it('is refused with a wrong token and without a project, and leaves no repository', async () => {
    const { source, target } = story()
    const { rest, users } = target
    for (const fields of [
      { auth_token: 'wrong' },
      { clone_addr: `${source.url}/bob/none.git` },
      { service: 'sourceforge' },
    ]) {
      const request = migrationOf(source, 'none', fields)
      expect((await rest(users.bob, 'POST', '/repos/migrate', request)).status).toBe(422)
      expect((await rest(users.bob, 'GET', '/repos/bob/none')).status).toBe(404)
    }
  })
})
