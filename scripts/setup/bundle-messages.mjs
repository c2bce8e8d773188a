import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './child-process.mjs'

/** What the modules that the plugin writes call. */
const MESSAGES = './src/web/api/messages.ts'

/** The types of `google.protobuf`. */
const KNOWN_MESSAGES = './src/web/api/known-messages.ts'

/** The generated modules that pages use. The pages about the API need the others as they are. */
const USED =
  /[/]gen[/](?:branchline[/]v1[/][a-z0-9_]+|google[/]rpc[/][a-z_]+|google[/]api[/]httpbody)_pb[.]ts$/

/** The letters of the scalar types in `src/web/api/messages.ts`, by the names of `ScalarType`. */
const LETTERS = new Map([
  ['BOOL', 'b'],
  ['DOUBLE', 'd'],
  ['INT32', 'i'],
  ['INT64', 'l'],
  ['STRING', 's'],
  ['UINT32', 'u'],
  ['UINT64', 'U'],
  ['BYTES', 'y'],
])

/** @typedef {import('@bufbuild/protobuf').DescFile} DescFile */
/** @typedef {import('@bufbuild/protobuf').DescMessage} DescMessage */
/** @typedef {import('@bufbuild/protobuf').DescField} DescField */
/** @typedef {import('@bufbuild/protobuf').DescService} DescService */

/**
 * Replaces the generated modules by short ones, which have the enums, and the messages and services as
 * `src/web/api/messages.ts` describes them. The generated ones need the package that reads descriptors,
 * which is a third of the script of a page.
 * @returns {import('esbuild').Plugin}
 */
export function shortMessages() {
  /** @type {Promise<Map<string, DescFile>> | undefined} */
  let files
  return {
    name: 'short-messages',
    setup({ onLoad }) {
      onLoad({ filter: USED }, async ({ path }) => {
        files ??= readFiles()
        const file = (await files).get(path)
        if (!file) throw new Error(`${path} has no descriptor`)
        return { contents: await moduleOf(file, path), loader: 'ts', resolveDir: root }
      })
    },
  }
}

/** Returns the descriptors of all generated modules by the paths of the modules. */
export async function readFiles() {
  const { createFileRegistry, create, fromBinary } = await import('@bufbuild/protobuf')
  const wkt = await import('@bufbuild/protobuf/wkt')
  /**
   * Descriptors, and what they import, by the names of their constants in the generated code.
   * @type {Map<string, { proto: import('@bufbuild/protobuf/wkt').FileDescriptorProto, imports: readonly string[] }>}
   */
  const known = new Map()
  for (const [constant, value] of Object.entries(wkt)) {
    if (!constant.startsWith('file_')) continue
    const { proto, dependencies } = /** @type {DescFile} */ (value)
    const imports = dependencies.map(({ name }) => constantOf(`${name}.proto`))
    known.set(constant, { proto, imports })
  }
  const folder = join(root, 'gen')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('_pb.ts')) continue
    const source = readFileSync(join(folder, name), 'utf8')
    const [, encoded, imports = ''] = /\bfileDesc\("([^"]*)"(?:, \[(.*?)\])?\)/.exec(source) ?? []
    if (encoded === undefined) throw new Error(`gen/${name} has no descriptor`)
    const proto = fromBinary(wkt.FileDescriptorProtoSchema, Buffer.from(encoded, 'base64'))
    known.set(constantOf(proto.name), { proto, imports: imports.split(', ') })
  }
  // A registry needs a file after its imports, and the generated code has the imports beside the file.
  /** @type {Set<import('@bufbuild/protobuf/wkt').FileDescriptorProto>} */
  const sorted = new Set()
  const add = (/** @type {string} */ constant) => {
    const file = known.get(constant)
    if (!file || sorted.has(file.proto)) return
    for (const imported of file.imports) add(imported)
    file.proto.dependency = file.imports.flatMap((name) => known.get(name)?.proto.name ?? [])
    sorted.add(file.proto)
  }
  for (const constant of known.keys()) add(constant)
  const set = create(wkt.FileDescriptorSetSchema)
  set.file.push(...sorted)
  return new Map(
    [...createFileRegistry(set).files].map((file) => [join(folder, `${file.name}_pb.ts`), file]),
  )
}

/** Returns the name of the constant that the generated code has for a file. */
function constantOf(/** @type {string} */ name) {
  return `file_${name.replace(/[.]proto$/, '').replaceAll(/[^a-z0-9]/gi, '_')}`
}

/**
 * Returns the source of a module.
 * @param {DescFile} file
 * @param {string} path of the generated module, whose enums stay.
 */
async function moduleOf(file, path) {
  const { nestedTypes } = await import('@bufbuild/protobuf/reflect')
  const enums = readFileSync(path, 'utf8').match(/^export enum \w+ \{$.*?^\}$/gms) ?? []
  const types = [...nestedTypes(file)]
  const messages = types
    .filter((type) => type.kind === 'message')
    .filter((type) => !isMapEntry(type))
  const services = types.filter((type) => type.kind === 'service')
  const used = new Set(
    [...messages.flatMap(typesOfFields), ...services.flatMap(typesOfMethods)].filter(
      (type) => type.file !== file,
    ),
  )
  const scalars = await scalarLetters()
  return [
    `import { message, service } from '${MESSAGES}'`,
    ...[...used].map((type) => `import { ${schemaName(type)} } from '${moduleName(type)}'`),
    ...enums,
    ...messages.map((type) => messageText(type, scalars)),
    ...services.map(serviceText),
  ].join('\n')
}

/** Returns the letters of the scalar types by their numbers. */
async function scalarLetters() {
  const { ScalarType } = await import('@bufbuild/protobuf')
  return new Map(
    [...LETTERS].map(([name, letter]) => [
      Number(ScalarType[/** @type {'BOOL'} */ (name)]),
      letter,
    ]),
  )
}

/** Entries of maps are no messages of their own. */
function isMapEntry(/** @type {DescMessage} */ { proto }) {
  return proto.options?.mapEntry === true
}

/** Returns the types of the fields that are messages, in order. */
function typesOfFields(/** @type {DescMessage} */ { fields }) {
  return fields.flatMap((field) => field.message ?? [])
}

/** Returns the types of requests and responses. */
function typesOfMethods(/** @type {DescService} */ { methods }) {
  return methods.flatMap(({ input, output }) => [input, output])
}

/** Returns the name that the generated code gives a type of messages. */
function schemaName(/** @type {DescMessage} */ { typeName, file }) {
  const name = typeName.slice(file.proto.package.length + 1)
  return `${name.replaceAll('.', '_')}Schema`
}

/** Returns the module of a type of messages. */
function moduleName(/** @type {DescMessage} */ { file }) {
  if (file.name.startsWith('google/protobuf/')) return KNOWN_MESSAGES
  return `./${relative(root, join(root, 'gen', `${file.name}_pb.ts`))}`
}

/**
 * @param {DescMessage} type
 * @param {ReadonlyMap<number, string>} scalars
 */
function messageText(type, scalars) {
  const fields = type.fields.map((field) => fieldText(field, scalars)).join(' ')
  const types = typesOfFields(type).map(schemaName)
  const list = types.length === 0 ? '' : `, () => [${types.join(', ')}]`
  return `export const ${schemaName(type)} = /* @__PURE__ */ message('${type.typeName}', '${fields}'${list})`
}

/**
 * Returns a field as `fieldsOf` in `src/web/api/messages.ts` reads it.
 * @param {DescField} field
 * @param {ReadonlyMap<number, string>} scalars
 */
function fieldText(field, scalars) {
  const letterOf = (/** @type {number} */ scalar) => {
    const letter = scalars.get(scalar)
    if (letter === undefined)
      throw new Error(`${field.parent.typeName}.${field.name} has a type that pages cannot read`)
    return letter
  }
  const kind = field.message
    ? 'm'
    : field.enum
      ? 'e'
      : letterOf(/** @type {number} */ (field.scalar))
  const isStruct =
    field.message?.typeName === 'google.protobuf.Struct' &&
    field.parent.typeName !== 'google.protobuf.Value'
  const flags = [
    field.fieldKind === 'list' && '*',
    field.proto.proto3Optional && '?',
    isStruct && '$',
    field.fieldKind === 'map' && `%${letterOf(field.mapKey)}`,
  ]
  const group = field.oneof ? `${field.oneof.localName}.` : ''
  return `${field.number}${kind}${flags.filter(Boolean).join('')}${group}${field.localName}`
}

function serviceText(/** @type {DescService} */ { name, typeName, methods }) {
  const list = methods.map(({ name, localName, methodKind, input, output }) => {
    if (localName.charAt(0).toUpperCase() + localName.slice(1) !== name)
      throw new Error(`${typeName}.${name} has another name in scripts`)
    const stream = methodKind === 'unary' ? '' : ', 1'
    return `${localName}: [${schemaName(input)}, ${schemaName(output)}${stream}]`
  })
  return `export const ${name} = /* @__PURE__ */ service('${typeName}', { ${list.join(', ')} })`
}
