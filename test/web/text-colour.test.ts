import { expect, it } from 'vitest'
import { textColourOn } from '../../src/web/components/text-colour.ts'

it('gives the name of a label the colour that is readable on the colour of the label', () => {
  expect(textColourOn('000000')).toBe('#fff')
  expect(textColourOn('b3261e')).toBe('#fff')
  // On a middle grey, black has a contrast of 5.3 to 1, and white of 3.9.
  expect(textColourOn('808080')).toBe('#000')
  expect(textColourOn('fde047')).toBe('#000')
  expect(textColourOn('FFFFFF')).toBe('#000')
})
