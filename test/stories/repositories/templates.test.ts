import { describe, expect, it } from 'vitest'
import { TemplateService } from '#gen/branchline/v1/template_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'

const forge = await openForge()
const { users, rest, ask } = forge
const { ada, bob, carol } = users

const fileOf = async (repository: string, path: string) => {
  const { content } = await ask(bob, 'GET', `/repos/bob/${repository}/contents/${path}`)
  return Buffer.from(String(content), 'base64').toString()
}

describe('everybody reads the templates', () => {
  it('licences come with their texts', async () => {
    const { body } = await rest(undefined, 'GET', '/licenses')
    const listed = body as unknown as readonly { key: string }[]
    expect(listed.map(({ key }) => key)).toEqual(expect.arrayContaining(['MIT', 'Apache-2.0']))
    const { key, url } = await ask(undefined, 'GET', '/licenses/MIT')
    expect({ key, url }).toEqual({ key: 'MIT', url: `${forge.server.url}/api/v1/licenses/MIT` })
    expect((await ask(undefined, 'GET', '/licenses/MIT')).body).toContain('<copyright holders>')
  })

  it('templates of .gitignore and sets of labels are found by name', async () => {
    expect(await ask(undefined, 'GET', '/gitignore/templates')).toEqual(
      expect.arrayContaining(['Go', 'Node']),
    )
    expect((await ask(undefined, 'GET', '/gitignore/templates/Node')).source).toContain(
      'node_modules/\n',
    )
    expect(await ask(undefined, 'GET', '/label/templates')).toEqual(['Advanced', 'Default'])
    expect(await ask(undefined, 'GET', '/label/templates/Default')).toContainEqual({
      name: 'bug',
      color: 'ee0701',
      description: 'Something is not working',
      exclusive: false,
    })
  })

  it.each(['/licenses', '/gitignore/templates', '/label/templates'])(
    'a name that %s lacks is not found, nor is a name of every object',
    async (path) => {
      for (const name of ['none', '__proto__', 'constructor'])
        expect((await rest(undefined, 'GET', `${path}/${name}`)).status).toBe(404)
    },
  )

  it('the reason is the same on the other protocols', async () => {
    const made = forge.grpc(TemplateService).getLicenseTemplate({ name: 'none' })
    expect(await refusalOf(made)).toMatchObject({ reason: 'TEMPLATE_NOT_FOUND' })
  })
})

describe('a new repository starts from templates', () => {
  it('the first commit has the files, and the owner holds the copyright', async () => {
    const made = await rest(bob, 'POST', '/user/repos', {
      name: 'garden',
      auto_init: true,
      readme: 'Default',
      gitignores: 'Go, Node',
      license: 'MIT',
      issue_labels: 'Default',
    })
    expect(made.status).toBe(201)
    expect(await fileOf('garden', 'README.md')).toBe('# garden\n\n')
    const gitignore = await fileOf('garden', '.gitignore')
    expect(gitignore).toMatch(/^# ---> Go\n[\s\S]*# ---> Node\nnode_modules\/\n/)
    const year = new Date(forge.server.app.clock.now()).getUTCFullYear()
    expect(await fileOf('garden', 'LICENSE')).toContain(`Copyright (c) ${year} bob\n`)
    expect(await ask(bob, 'GET', '/repos/bob/garden/commits')).toHaveLength(1)
    expect(await ask(bob, 'GET', '/repos/bob/garden/labels')).toHaveLength(7)
  })

  it('0BSD names the holder and an address without mail', async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'field', auto_init: true, license: '0BSD' })
    expect(await fileOf('field', 'LICENSE')).toMatch(/^Copyright \(C\) \d{4} by bob <.+@.+>\n/)
  })

  it('labels need no first commit', async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'empty', issue_labels: 'Advanced' })
    expect(await ask(bob, 'GET', '/repos/bob/empty/labels?limit=50')).toHaveLength(18)
  })

  it('organisations and administrators use them too', async () => {
    await ask(bob, 'POST', '/orgs', { username: 'acme' })
    const draft = { name: 'anvil', auto_init: true, license: 'MIT' }
    await ask(bob, 'POST', '/orgs/acme/repos', draft)
    const { content } = await ask(bob, 'GET', '/repos/acme/anvil/contents/LICENSE')
    expect(Buffer.from(String(content), 'base64').toString()).toContain(' acme\n')
    await ask(ada, 'POST', '/admin/users/carol/repos', draft)
    const { status } = await rest(carol, 'GET', '/repos/carol/anvil/contents/LICENSE')
    expect(status).toBe(200)
  })

  it.each(['readme', 'gitignores', 'license', 'issue_labels'])(
    'an unknown template of %s is refused, and nothing is created',
    async (field) => {
      const refused = await rest(bob, 'POST', '/user/repos', {
        name: 'refused',
        auto_init: true,
        [field]: 'toString',
      })
      expect(refused.status).toBe(400)
      expect((await rest(bob, 'GET', '/repos/bob/refused')).status).toBe(404)
    },
  )
})
