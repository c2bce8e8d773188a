/** How a service writes JSON. */
export interface JsonDialect {
  /** Spelling of member names. */
  readonly names: 'lowerCamel' | 'original'
  /** Form of 64-bit integers. Beyond 2^53-1, `number` writes strings too. */
  readonly int64: 'string' | 'number'
  /** Form of scalars and enums without presence that have their default value. */
  readonly scalars: 'omit' | 'default'
  /** Form of empty lists. */
  readonly lists: 'omit' | 'default' | 'null'
  /** Form of empty maps. */
  readonly maps: 'omit' | 'default' | 'null'
  /** Form of unset messages and unset fields with explicit presence. */
  readonly messages: 'omit' | 'null'
}

/** The JSON mapping of proto3 (https://protobuf.dev/programming-guides/json). */
export const standardJson: JsonDialect = Object.freeze<JsonDialect>({
  names: 'lowerCamel',
  int64: 'string',
  scalars: 'omit',
  lists: 'omit',
  maps: 'omit',
  messages: 'omit',
})
