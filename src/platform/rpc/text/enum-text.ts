import type { DescEnum, DescEnumValue } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { enum_value as enumValueOption } from '#gen/rest/v1/rest_pb.ts'

const numbersByEnum = new WeakMap<DescEnum, ReadonlyMap<string, number>>()

/**
 * Returns the numbers of an enum by the names and the REST texts of its values. A name takes
 * precedence over the text of another value.
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
 * Returns the texts of an enum by number: the REST text of the first value with the number, or else
 * its name.
 */
export function enumTexts(desc: DescEnum): ReadonlyMap<number, string> {
  return new Map(Object.values(desc.value).map((value) => [value.number, restText(value)]))
}

/**
 * Returns whether an enum field can store a number: any 32-bit integer in an open enum, a declared
 * value in a closed one.
 */
export function isEnumNumber(desc: DescEnum, number: number): boolean {
  return desc.open ? number === (number | 0) : desc.value[number] !== undefined
}

function restText(value: DescEnumValue): string {
  return getOption(value, enumValueOption).text || value.name
}
