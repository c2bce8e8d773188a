/** A value of JSON. */
export type RecordValue =
  | string
  | number
  | boolean
  | null
  | RecordValue[]
  | { [key: string]: RecordValue }

/** A record of an export or an import: a label, a milestone or an issue. */
export type ExchangeRecord = { [key: string]: RecordValue }
