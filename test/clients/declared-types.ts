import { readFileSync } from 'node:fs'

/** What a library's declarations say of the objects that it expects, property by property. */
export type DeclaredTypes = ReadonlyMap<string, ReadonlyMap<string, string>>

/**
 * Reads the interfaces of a declaration file that have plain properties, and its aliases of types.
 */
export function readDeclaredTypes(path: string): DeclaredTypes {
  const text = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const types = new Map<string, ReadonlyMap<string, string>>()
  for (const [, name = '', body = ''] of text.matchAll(/^interface (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const properties = [...body.matchAll(/^ {4}['"]?(\w+)['"]?\??: ([^\n]+);$/gm)]
    types.set(name, new Map(properties.map(([, property = '', type = '']) => [property, type])))
  }
  for (const [, name = '', type = ''] of text.matchAll(/^type (\w+) = ([^\n]+);$/gm)) {
    types.set(name, new Map([['', type]]))
  }
  return types
}

/**
 * Where a value does not fit its declaration: properties that are missing, or of another type.
 * Where nothing is, `null` fits, except for lists. Properties that are not declared are no concern
 * of the client.
 */
export function misfits(types: DeclaredTypes, type: string, value: unknown, path = type): string[] {
  const list = /^(.+)\[\]$/.exec(type)?.[1]
  if (value === null && list === undefined) return []
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path} is no list`]
    return value.flatMap((element, i) => misfits(types, list, element, `${path}[${i}]`))
  }
  if (type.startsWith("'"))
    return type.split(' | ').includes(`'${value}'`) ? [] : [`${path} is ${value}, not ${type}`]
  const record = /^Record<string, (\w+)>$/.exec(type)?.[1]
  if (record !== undefined) {
    return Object.entries(value ?? {}).flatMap(([key, each]) =>
      misfits(types, record, each, `${path}.${key}`),
    )
  }
  const declared = types.get(type)
  if (!declared) return typeof value === type ? [] : [`${path} is a ${typeof value}, not a ${type}`]
  const alias = declared.get('')
  if (alias !== undefined) return misfits(types, alias, value, path)
  if (typeof value !== 'object') return [`${path} is a ${typeof value}, not a ${type}`]
  const object = new Map(Object.entries(value ?? {}))
  return [...declared].flatMap(([property, expected]) => {
    const at = `${path}.${property}`
    return object.has(property)
      ? misfits(types, expected, object.get(property), at)
      : [`${at} is missing`]
  })
}
