import type { DescEnum, DescEnumValue } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { enum_value as enumValueOption } from '#gen/branchline/rest/v1/rest_pb.ts'

const numbersByEnum = new WeakMap<DescEnum, ReadonlyMap<string, number>>()

/**
 * The numbers of an enum by the names of its values and by their REST texts; a name wins over
 * another value's text.
 */
export function enumNumbers(desc: DescEnum): ReadonlyMap<string, number> {
  let numbers = numbersByEnum.get(desc)
  if (numbers === undefined) {
    numbers = new Map([
      ...desc.values.map((value) => [restText(value), value.number] as const),
      ...desc.values.map((value) => [value.name, value.number] as const),
    ])
    numbersByEnum.set(desc, numbers)
  }
  return numbers
}

/**
 * The texts of an enum by number: the REST text of the first value declared with the number, or
 * else its name.
 */
export function enumTexts(desc: DescEnum): ReadonlyMap<number, string> {
  return new Map(Object.values(desc.value).map((value) => [value.number, restText(value)]))
}

/**
 * Whether a number can be stored: any 32-bit integer in an open enum, only declared values in a
 * closed one.
 */
export function isEnumNumber(desc: DescEnum, number: number): boolean {
  return desc.open ? number === (number | 0) : desc.value[number] !== undefined
}

function restText(value: DescEnumValue): string {
  return getOption(value, enumValueOption).text || value.name
}
