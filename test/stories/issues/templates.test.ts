import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueTemplateService } from '#gen/branchline/v1/issue_template_service_pb.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import {
  type Actor,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

type Files = Readonly<Record<string, string>>

/** Makes a repository of bob's with some files. */
async function withFiles(name: string, files: Files): Promise<string> {
  const { path } = await forge.repository(users.bob, name)
  await addFiles(path, files)
  return path
}

async function addFiles(path: string, files: Files): Promise<void> {
  await forge.ask(users.bob, 'POST', `${path}/contents`, {
    branch: 'main',
    files: Object.entries(files).map(([file, content]) => ({
      operation: 'create',
      path: file,
      content: Buffer.from(content).toString('base64'),
    })),
  })
}

const list = (path: string, who: Actor | undefined = undefined) =>
  forge.rest(who, 'GET', `${path}/issue_templates`)

const FORM = `
name: Bug
description: Something is broken
title: "[Bug]: "
labels: [bug, unknown]
assignees: bob, nobody
ref: main
body:
  - type: markdown
    attributes:
      value: Thanks!
  - type: input
    id: version
    attributes: {label: Version, description: Which one, placeholder: "1.0"}
    validations: {required: true, is_number: true, regex: "^(a+)+$"}
  - type: textarea
    id: log
    attributes: {label: Log, render: shell}
  - type: dropdown
    id: browsers
    attributes: {label: Browsers, multiple: true, options: [Firefox, Chromium, Safari], default: 0}
  - type: dropdown
    id: system
    attributes: {label: System, list: true, options: [Linux, Windows]}
  - type: checkboxes
    id: terms
    attributes:
      label: Terms
      options:
        - label: I have searched
          required: true
        - label: I can help
        - label: Hidden from the text
          visible: [form]
  - type: textarea
    attributes: {label: More, hide_label: true}
`

describe('templates of issues', () => {
  it('are Markdown and forms of the default branch, without faulty ones', async () => {
    const path = await withFiles('templates', {
      '.gitea/ISSUE_TEMPLATE/b.md':
        '---\nname: Plain\nabout: As you like\nlabels: bug, later\nref: refs/tags/v1\n---\n\nHello\n',
      '.gitea/ISSUE_TEMPLATE/a.yaml': FORM,
      '.gitea/ISSUE_TEMPLATE/broken.yml': 'name: [',
      '.gitea/ISSUE_TEMPLATE/config.yml': 'blank_issues_enabled: false',
      '.gitea/ISSUE_TEMPLATE/deeper/c.md': 'not listed',
      '.github/issue_template/c.md': `No front matter ${'x'.repeat(100)}`,
      'ISSUE_TEMPLATE/first.md': '---\nname: First\nabout: At the root\n---\ntext',
    })
    const { status, body, headers } = await list(path)
    expect(status).toBe(200)
    expect(headers.get('x-gitea-warning')).toBe('error occurs when parsing issue template: count=1')
    expect(body.map(({ file_name }: { file_name: string }) => file_name)).toEqual([
      'ISSUE_TEMPLATE/first.md',
      '.gitea/ISSUE_TEMPLATE/a.yaml',
      '.gitea/ISSUE_TEMPLATE/b.md',
      '.github/issue_template/c.md',
    ])
    expect(body[2]).toEqual({
      name: 'Plain',
      title: '',
      about: 'As you like',
      labels: ['bug', 'later'],
      assignees: [],
      ref: 'refs/tags/v1',
      content: '\nHello\n',
      body: [],
      file_name: '.gitea/ISSUE_TEMPLATE/b.md',
    })
    expect(body[3]).toMatchObject({ name: 'c.md', about: `No front matter ${'x'.repeat(64)}` })
    const [markdown, version] = body[1].body
    expect(body[1]).toMatchObject({
      about: 'Something is broken',
      ref: 'refs/heads/main',
      assignees: ['bob', 'nobody'],
      content: '',
    })
    expect(markdown).toEqual({
      type: 'markdown',
      id: '0',
      attributes: { value: 'Thanks!' },
      validations: {},
      visible: ['form'],
    })
    expect(version).toMatchObject({
      id: 'version',
      attributes: { label: 'Version', placeholder: '1.0' },
      validations: { required: true, is_number: true, regex: '^(a+)+$' },
      visible: ['form', 'content'],
    })
    expect(body[1].body[3].attributes).toMatchObject({ multiple: true, default: 0 })
    expect(body[1].body[5].attributes.options[2]).toEqual({
      label: 'Hidden from the text',
      visible: ['form'],
    })
    expect(body[1].body[6].id).toBe('6')
  })

  it('are none in an empty repository, and hidden with the repository', async () => {
    await forge.ask(users.bob, 'POST', '/user/repos', { name: 'empty' })
    expect(await list('/repos/bob/empty')).toMatchObject({ status: 200, body: [] })
    const config = await forge.rest(undefined, 'GET', '/repos/bob/empty/issue_config')
    expect(config.body).toEqual({ blank_issues_enabled: true, contact_links: [] })
    await forge.repository(users.bob, 'secret', { private: true })
    const asked = ['issue_templates', 'issue_config', 'issue_config/validate']
    for (const path of [...asked, 'pull_request_template'])
      expect((await forge.rest(users.eve, 'GET', `/repos/bob/secret/${path}`)).status).toBe(404)
  })

  it('need the right to read code', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'trackers' })
    const fields = { name: 'work', auto_init: true, private: true }
    await forge.ask(users.bob, 'POST', '/orgs/trackers/repos', fields)
    const team = await forge.ask(users.bob, 'POST', '/orgs/trackers/teams', {
      name: 'reporters',
      permission: 'read',
      includes_all_repositories: true,
      units_map: { 'repo.issues': 'read' },
    })
    await forge.ask(users.bob, 'PUT', `/teams/${team.id}/members/eve`)
    const path = '/repos/trackers/work'
    expect((await forge.rest(users.eve, 'GET', `${path}/issues`)).status).toBe(200)
    for (const place of ['issue_templates', 'issue_config', 'issue_config/validate'])
      expect((await forge.rest(users.eve, 'GET', `${path}/${place}`)).status).toBe(403)
    const issue = { title: 'a', template: 'a.yaml' }
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, issue)).status).toBe(403)
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, { title: 'a' })).status).toBe(201)
  })

  it('cost little, whatever was pushed', async () => {
    const folder = '.gitea/ISSUE_TEMPLATE'
    const path = await withFiles('bombs', {
      [`${folder}/aliases.yaml`]: `a: &a [${'x,'.repeat(99)}]\nb: [${'*a,'.repeat(101)}]`,
      [`${folder}/deep.yaml`]: `a: ${'['.repeat(40)}${']'.repeat(40)}`,
      [`${folder}/deepest.yaml`]: '['.repeat(20_000),
      [`${folder}/large.md`]: 'x'.repeat(1024 ** 2 + 1),
      [`${folder}/tag.yaml`]: '!!js/function {}',
      [`${folder}/keys.yaml`]: `name: a\nname: b`,
      [`${folder}/infinite.yaml`]: FORM.replace('default: 0', 'default: .inf'),
      [`${folder}/prototype.yaml`]: `__proto__: {name: a}\n${FORM.replace('name: Bug', '')}`,
      [`${folder}/twice.yaml`]: FORM.replace('id: log', 'id: version'),
      [`${folder}/fine.yaml`]: FORM,
    })
    const { body, headers } = await list(path)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['Bug'])
    expect(headers.get('x-gitea-warning')).toMatch(/count=9$/)
  })
})

describe('the configuration for new issues', () => {
  const validity = (path: string) => forge.ask(undefined, 'GET', `${path}/issue_config/validate`)

  it('is the first file, and its defaults if the file is faulty', async () => {
    const path = await withFiles('config', {
      '.github/ISSUE_TEMPLATE/config.yml': 'blank_issues_enabled: "x"',
    })
    const get = () => forge.ask(undefined, 'GET', `${path}/issue_config`)
    expect(await get()).toEqual({ blank_issues_enabled: true, contact_links: [] })
    expect(await validity(path)).toEqual({
      valid: false,
      message: 'blank_issues_enabled should be true or false',
    })
    const links = '- {name: Forum, url: https://forum.example/, about: Ask here}'
    await addFiles(path, {
      '.gitea/issue_template/config.yaml': `blank_issues_enabled: false\ncontact_links:\n${links}`,
    })
    expect(await get()).toEqual({
      blank_issues_enabled: false,
      contact_links: [{ name: 'Forum', url: 'https://forum.example/', about: 'Ask here' }],
    })
    expect(await validity(path)).toEqual({ valid: true, message: '' })
    expect((await forge.rest(users.bob, 'POST', `${path}/issues`, { title: 'blank' })).status).toBe(
      201,
    )
  })

  it('tells which contact link is faulty', async () => {
    const link = '  - {name: a, url: https://a.example, about: b}\n'
    const path = await withFiles('links', {
      '.gitea/ISSUE_TEMPLATE/config.yaml': `contact_links:\n${link}  - {name: a, about: b}`,
    })
    expect(await validity(path)).toMatchObject({
      valid: false,
      message: 'contact_link at position 2 is missing url key',
    })
    await addFiles(path, {
      '.forgejo/ISSUE_TEMPLATE/config.yaml':
        'contact_links:\n  - {name: a, url: "javascript:alert(1)", about: b}',
    })
    expect((await validity(path)).message).toMatch(/^contact_link at position 1 .*invalid url/)
  })
})

const ANSWERS = {
  version: ' 1.5 ',
  log: 'a ``` b',
  browsers: ['Safari', 'Firefox'],
  system: 'Linux',
  terms: ['I have searched'],
}

const TEXT = `### Version

1.5

### Log

\`\`\`\`shell
a \`\`\` b
\`\`\`\`

### Browsers

Firefox, Safari

### System

- Linux

### Terms

- [x] I have searched
- [ ] I can help

_No response_

`

describe('a form', () => {
  let path: string
  const render = (fields: object, template = 'a.yaml') =>
    forge.rest(undefined, 'POST', `${path}/issue_templates/render`, { template, fields })

  beforeAll(async () => {
    path = await withFiles('forms', {
      '.gitea/ISSUE_TEMPLATE/a.yaml': FORM,
      '.gitea/ISSUE_TEMPLATE/b.md': '---\nname: Plain\nabout: b\nlabels: bug\n---\nHello',
      '.gitea/ISSUE_TEMPLATE/broken.yaml': 'name: x',
      '.gitea/pull_request_template.md': '---\nname: x\nabout: y\n---\nWhat it does',
      'docs/ISSUE_TEMPLATE.md': 'Alone',
    })
    await forge.ask(users.bob, 'POST', `${path}/labels`, { name: 'bug', color: 'ff0000' })
  })

  it('becomes a text', async () => {
    const { status, body } = await render(ANSWERS)
    expect(status).toBe(200)
    expect(body.body).toBe(TEXT)
    expect(body).toMatchObject({
      title: '[Bug]: ',
      labels: ['bug', 'unknown'],
      assignees: ['bob', 'nobody'],
    })
    expect((await render({}, 'b.md')).body).toMatchObject({ body: 'Hello', labels: ['bug'] })
    expect((await render({}, '')).body).toMatchObject({ body: 'Alone', title: '' })
  })

  it('is refused with the name of the field that is missing or wrong', async () => {
    const faults: readonly (readonly [object, string])[] = [
      [{ version: '  ' }, '[version] Version: Required'],
      [{ version: undefined }, '[version] Version: Required'],
      [{ version: '1.x' }, '[version] Version: is no number'],
      [{ version: true }, '[version] Version: is no text'],
      [{ browsers: ['Lynx'] }, '[browsers] Browsers: Lynx is not an option'],
      [{ system: ['Linux', 'Windows'] }, '[system] System: takes one option'],
      [{ terms: {} }, '[terms] Terms: Required: I have searched'],
      [{ terms: { 'I have searched': false } }, '[terms] Terms: Required: I have searched'],
      [{ colour: 'red' }, '[colour] colour: the form has no such field'],
    ]
    for (const [fields, message] of faults)
      expect(await render({ ...ANSWERS, ...fields })).toMatchObject({
        status: 422,
        body: { message },
      })
    expect((await render({ ...ANSWERS, terms: { 'I have searched': true } })).status).toBe(200)
    for (const template of ['broken.yaml', 'none.yaml', '../a.yaml'])
      expect((await render({}, template)).status).toBe(422)
    expect((await render({ a: 'b' }, 'b.md')).status).toBe(422)
  })

  it('opens an issue with its labels and assignees, whoever fills it in', async () => {
    const draft = { title: 'broken', template: '.gitea/ISSUE_TEMPLATE/a.yaml', body: 'ignored' }
    const { status, body } = await forge.rest(users.eve, 'POST', `${path}/issues`, {
      ...draft,
      labels: ['later'],
      assignees: ['carol'],
      fields: ANSWERS,
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({ number: 1, title: 'broken', body: TEXT, ref: 'refs/heads/main' })
    expect(body.labels.map(({ name }: { name: string }) => name)).toEqual(['bug'])
    expect(body.assignees.map(({ login }: { login: string }) => login)).toEqual(['bob'])
    const incomplete = { ...draft, fields: { ...ANSWERS, version: '' } }
    const refused = await forge.rest(users.eve, 'POST', `${path}/issues`, incomplete)
    expect(refused.status).toBe(422)
    expect(refused.body.message).toContain('version')
    const unnamed = { title: 'a', fields: ANSWERS }
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, unnamed)).status).toBe(422)
    const plain = { title: 'plain', template: 'b.md' }
    expect(await forge.ask(users.eve, 'POST', `${path}/issues`, plain)).toMatchObject({
      number: 2,
      body: 'Hello',
    })
    const own = { ...plain, body: 'Own words' }
    expect(await forge.ask(users.eve, 'POST', `${path}/issues`, own)).toMatchObject({
      body: 'Own words',
      labels: [{ name: 'bug' }],
    })
  })

  it('has a counterpart for pull requests', async () => {
    const url = `${server.url}/api/v1${path}/pull_request_template`
    const answer = await fetch(url)
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await answer.text()).toBe('What it does')
  })
})

describe.each(RPC_PROTOCOLS)('templates over %s', (protocol) => {
  it('are listed, rendered and refused', async () => {
    const repo = `rpc-${protocol.toLowerCase().replaceAll(/\W/g, '')}`
    await withFiles(repo, { '.gitea/ISSUE_TEMPLATE/a.yaml': FORM })
    const client = createClient(IssueTemplateService, transportTo(server.url, protocol))
    const name = { owner: 'bob', repo }
    const { templates, warning } = await client.listIssueTemplates(name)
    expect(templates).toMatchObject([{ name: 'Bug', fileName: '.gitea/ISSUE_TEMPLATE/a.yaml' }])
    expect(warning).toBe('')
    expect(await client.validateIssueConfig(name)).toMatchObject({ valid: true, message: '' })
    const request = { ...name, template: 'a.yaml', fields: { ...ANSWERS } }
    expect((await client.renderIssueTemplate(request)).body).toBe(TEXT)
    expect(await refusalOf(client.renderIssueTemplate({ ...request, fields: {} }))).toMatchObject({
      reason: 'ISSUE_FORM_INCOMPLETE',
    })
  })
})
