// What each visitor with an account loads after the first view of a page, in one script.
export { HeaderMenus } from './header-menus.tsx'
