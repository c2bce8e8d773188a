// `npm run generate`, second step: writes docs/methods.md, the list of all methods, from proto/.
// With `--check` it only compares the file. The check runs it as a process, because the packages
// that it imports are missing before the set-up.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileRegistry, fromBinary, getOption, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { getComments } from '@bufbuild/protoplugin'
import { declaredFailures } from './method-failures.mjs'
import { root } from './setup/child-process.mjs'

const INTRODUCTION = `# Methods

Every method of the API, by service. \`npm run generate\` writes this page from the schema; the
comments in the proto files say the rest: requests and responses.

A path with a verb is the REST form of a method. Each method is also served over gRPC, gRPC-Web and
Connect, as \`/branchline.v1.{Service}/{Method}\`. "Who" is the least that a caller needs: the scope
counts for personal access tokens, and sessions have every scope.

A reason of a failure stands with its status over REST. [Reasons](#reasons) has the condition of each
reason, and the code that the other protocols answer. A line below a method has the condition where it
is another one.
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
  const declared = declaredFailures([...registry])
  return [
    INTRODUCTION,
    indexOf(services),
    ...services.map((service) => section(registry, service, declared)),
    reasonsSection(declared),
  ].join('\n')
}

function indexOf(services) {
  const rows = services.map(
    (service) =>
      `| [${service.name}](#${service.name.toLowerCase()}) | ${firstSentence(service)} | ${service.methods.length} |`,
  )
  return ['| Service | Subject | Methods |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function section(registry, service, { failuresOf }) {
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
    'Failures:',
    '',
    ...service.methods.flatMap((method) => failureLines(method.name, failuresOf(method))),
    '',
  ].join('\n')
}

function failureLines(name, failures) {
  const reasons = failures.map(({ reason }) => `\`${reason.name}\` ${reason.status}`)
  const special = failures.filter(({ condition }) => condition !== '')
  return [
    `- \`${name}\`: ${reasons.join(', ')}`,
    ...special.map(({ reason, condition }) => `  - \`${reason.name}\`: ${condition}`),
  ]
}

function reasonsSection({ reasons, general }) {
  const items = reasons
    .filter(({ status }) => status !== '')
    .map(({ name, paragraphs }) => `- \`${name}\`: ${paragraphs.join(' ')}`)
  return [
    '## Reasons',
    '',
    `Every method may also fail with ${general.map((name) => `\`${name}\``).join(', ')}.`,
    '',
    ...items,
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
