// `npm run generate`, second step: writes docs/methods.md, the list of all methods, from proto/.
// With `--check` it only compares the file. The check runs it as a process, because the packages
// that it imports are missing before the set-up.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileRegistry, fromBinary, getOption, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { getComments } from '@bufbuild/protoplugin'
import { root } from './setup/child-process.mjs'

const INTRODUCTION = `# Methods

Every method of the API, by service. \`npm run generate\` writes this page from the schema; the
comments in the proto files say the rest: requests, responses, failures and their reasons.

A path with a verb is the REST form of a method. Each method is also served over gRPC, gRPC-Web and
Connect, as \`/branchline.v1.{Service}/{Method}\`. "Who" is the least that a caller needs: the scope
counts for personal access tokens, and sessions have every scope.
`

/** The callers of a method, by the audience in its access option. */
const AUDIENCES = {
  ALWAYS_PUBLIC: 'everyone, on private instances too',
  PUBLIC: 'everyone',
  SIGNED_IN: 'signed in',
  SELF: 'the owner',
  SELF_OR_ADMIN: 'the owner, administrators',
  ADMINISTRATORS: 'administrators',
}

const path = join(root, 'docs', 'methods.md')
const page = methodsPage()
if (!process.argv.includes('--check')) writeFileSync(path, page)
else if (readFileSync(path, 'utf8') !== page) {
  console.error('docs/methods.md is out of date: run `npm run generate`.')
  process.exitCode = 1
}

/** Returns the page that docs/methods.md should be. */
function methodsPage() {
  // Imports are needed to read the options, and source information to read the comments.
  const image = execFileSync(
    join(root, 'node_modules', '.bin', 'buf'),
    ['build', '-o', '-#format=binpb'],
    {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  const set = fromBinary(FileDescriptorSetSchema, image)
  const registry = createFileRegistry(set)
  const services = [...registry].filter(
    (type) => type.kind === 'service' && type.file.proto.package === 'branchline.v1',
  )
  services.sort((a, b) => (a.name < b.name ? -1 : 1))
  return [INTRODUCTION, indexOf(services), ...services.map((s) => section(registry, s))].join('\n')
}

function indexOf(services) {
  const rows = services.map(
    (service) =>
      `| [${service.name}](#${service.name.toLowerCase()}) | ${firstSentence(service)} | ${service.methods.length} |`,
  )
  return ['| Service | Subject | Methods |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function section(registry, service) {
  const rows = service.methods.map((method) => {
    const cells = [
      `\`${method.name}\``,
      restOf(registry, method),
      accessOf(registry, method),
      firstSentence(method),
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    `## ${service.name}`,
    '',
    `[proto/${service.file.name}.proto](../proto/${service.file.name}.proto)`,
    '',
    '| Method | REST | Who | What it does |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

/** Returns the first sentence of the comment of an element, on one line. */
function firstSentence(element) {
  const text = (getComments(element).leading ?? '').replace(/\s+/g, ' ').trim()
  const [sentence] = /^.*?\.(?= [A-Z`]|$)/.exec(text) ?? [text]
  return sentence.replaceAll('|', '\\|')
}

function optionOf(registry, method, name) {
  const extension = registry.getExtension(name)
  return toJson(extension.message, getOption(method, extension), { registry })
}

function restOf(registry, method) {
  const rule = optionOf(registry, method, 'google.api.http')
  const bindings = [rule, ...(rule.additionalBindings ?? [])]
  return bindings
    .flatMap((binding) =>
      ['get', 'put', 'post', 'delete', 'patch'].flatMap((verb) =>
        binding[verb] ? [`\`${verb.toUpperCase()} ${binding[verb]}\``] : [],
      ),
    )
    .join('<br>')
}

function accessOf(registry, method) {
  const { audience, scope } = optionOf(registry, method, 'branchline.access.v1.access')
  return scope ? `${AUDIENCES[audience]}; \`${scope}\`` : AUDIENCES[audience]
}
