//! Between the structs of C and those of this crate. The conversions themselves are generated.

use crate::{Error, Result, Status};
use std::any::Any;
use std::ffi::{CStr, CString};
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;
use troika_sys as sys;

/// An enum whose values are numbers of C.
pub(crate) trait Number: Sized {
    fn raw(self) -> i32;
    fn from_raw(raw: i32) -> Result<Self>;
}

/// A struct that has the fields of one of C.
pub(crate) trait Struct: Sized {
    type Raw;

    /// The struct of C with its defaults, which the library writes.
    fn init() -> Self::Raw;

    /// # Safety
    /// Pointers in `raw` are valid or NULL.
    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self>;
}

/// A struct that is passed to C.
pub(crate) trait Input: Struct {
    /// The result may point into `self` and `held`.
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw>;

    /// Passes the struct of C to a call.
    fn pass<R>(&self, call: impl FnOnce(&Self::Raw) -> Result<R>) -> Result<R> {
        let mut held = Held::default();
        call(&self.to_raw(&mut held)?)
    }
}

/// Declares an enum of numbers of C. With `else`, numbers of later versions have a variant.
macro_rules! enumeration {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $constant:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl Number for $name {
            fn raw(self) -> i32 {
                match self {
                    $(Self::$variant => sys::$constant,)*
                }
            }

            fn from_raw(raw: i32) -> Result<Self> {
                match raw {
                    $(sys::$constant => Ok(Self::$variant),)*
                    _ => Err(unknown_number(stringify!($name), raw)),
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident else $other:ident {
        $($(#[$of_variant:meta])* $variant:ident = $constant:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of_variant])* $variant,)*
            /// A number that a later version of the library has.
            $other(i32),
        }

        impl Number for $name {
            fn raw(self) -> i32 {
                match self {
                    $(Self::$variant => sys::$constant,)*
                    Self::$other(raw) => raw,
                }
            }

            fn from_raw(raw: i32) -> Result<Self> {
                Ok(match raw {
                    $(sys::$constant => Self::$variant,)*
                    _ => Self::$other(raw),
                })
            }
        }
    };
}
pub(crate) use enumeration;

pub(crate) fn unknown_number(name: &str, raw: i32) -> Error {
    let message = format!("{name}: the number {raw} is not known to this version of the crate");
    Error::new(Status::Unsupported, message)
}

// ---- from C ----

/// A struct as its `_init` function fills it.
pub(crate) fn initialized<T>(init: unsafe extern "C" fn(*mut T, u32)) -> T {
    let mut raw = MaybeUninit::<T>::zeroed();
    // Safety: zeros are a value of every struct of C, and `init` writes at most its size.
    unsafe {
        init(raw.as_mut_ptr(), size_of::<T>() as u32);
        raw.assume_init()
    }
}

/// A struct of C that has no `_init` function: its default is zeros.
pub(crate) fn zeroed<T>() -> T {
    // Safety: zeros are a value of every struct of C.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The library's defaults as options of this crate.
pub(crate) fn defaults<T: Struct>() -> T {
    // Safety: pointers of defaults are NULL or static.
    let defaults = unsafe { T::from_raw(&T::init()) };
    defaults.expect("the library's defaults have values that this crate knows")
}

/// The text in a buffer of a struct.
pub(crate) fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> =
        buffer.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// # Safety
/// `text` is NULL or ends with a NUL.
pub(crate) unsafe fn optional_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// `text` is NULL or ends with a NUL.
pub(crate) unsafe fn required_text(text: *const c_char) -> String {
    unsafe { optional_text(text) }.unwrap_or_default()
}

pub(crate) fn optional_enum<T>(
    raw: i32,
    none: i32,
    from_raw: impl FnOnce(i32) -> Result<T>,
) -> Result<Option<T>> {
    if raw == none {
        Ok(None)
    } else {
        from_raw(raw).map(Some)
    }
}

pub(crate) fn optional_number<T: From<i32> + PartialEq>(raw: T) -> Option<T> {
    if raw == T::from(sys::TROIKA_UNSET) {
        None
    } else {
        Some(raw)
    }
}

pub(crate) fn optional_numbers<const N: usize>(raw: [i64; N]) -> Option<[i64; N]> {
    if raw == [sys::TROIKA_UNSET.into(); N] {
        None
    } else {
        Some(raw)
    }
}

/// The elements of an array of a struct that count.
pub(crate) fn part<T>(array: &[T], length: i32) -> &[T] {
    &array[..array.len().min(length.max(0) as usize)]
}

/// # Safety
/// `first` points to `length` elements, unless `length` is 0.
pub(crate) unsafe fn read_list<T: Clone>(first: *const T, length: i32) -> Vec<T> {
    if first.is_null() || length <= 0 {
        return Vec::new();
    }
    unsafe { std::slice::from_raw_parts(first, length as usize) }.to_vec()
}

/// Reads structs that begin with their size, which is larger in a later version of the library.
///
/// # Safety
/// `first` points to `length` structs, unless `length` is 0.
pub(crate) unsafe fn read_structs<T: Struct>(first: *const T::Raw, length: i32) -> Result<Vec<T>> {
    if first.is_null() || length <= 0 {
        return Ok(Vec::new());
    }
    let stride = unsafe { *first.cast::<u32>() } as usize;
    let at = |i: usize| unsafe { &*first.cast::<u8>().add(i * stride).cast::<T::Raw>() };
    (0..length as usize).map(|i| unsafe { T::from_raw(at(i)) }).collect()
}

// ---- to C ----

/// Memory that structs of C point to. It lives as long as the call.
#[derive(Default)]
pub(crate) struct Held(Vec<Box<dyn Any>>);

impl Held {
    /// `name` is the text's in messages.
    pub(crate) fn text(&mut self, text: Option<&str>, name: &str) -> Result<*const c_char> {
        let text = match text {
            Some(text) => c_text(text, name)?,
            None => return Ok(ptr::null()),
        };
        let address = text.as_ptr();
        self.0.push(Box::new(text));
        Ok(address)
    }

    pub(crate) fn list<T: 'static>(&mut self, list: Vec<T>) -> *const T {
        let address = pointer_to(&list);
        self.0.push(Box::new(list));
        address
    }
}

/// The address of a list; NULL if it is empty.
pub(crate) fn pointer_to<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        ptr::null()
    } else {
        list.as_ptr()
    }
}

/// `name` is the text's in messages.
pub(crate) fn c_text(text: &str, name: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let place = error.nul_position();
        Error::invalid(format!("{name}: the text has a NUL at byte {place}, needs none"))
    })
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    match path.to_str() {
        Some(path) => c_text(path, "path"),
        None => Err(Error::invalid(format!("path: {path:?} is not UTF-8"))),
    }
}

/// A number of elements as C counts them. `name` is that of the list in messages.
pub(crate) fn count<T: TryFrom<usize>>(count: usize, name: &str) -> Result<T> {
    T::try_from(count).map_err(|_| {
        let bits = 8 * size_of::<T>();
        Error::invalid(format!("{name}: {count} is too large, needs {bits} bits at most"))
    })
}

/// An index of the library as one of Rust.
pub(crate) fn index(raw: i32) -> usize {
    usize::try_from(raw).unwrap_or(0)
}

/// The bytes of a slice, as C counts them.
pub(crate) fn bytes_of<T>(slice: &[T]) -> i64 {
    std::mem::size_of_val(slice) as i64
}

/// The number of elements of a shape. None if a size is below 0 or the product is too large; the
/// library refuses such a shape with a message of its own.
pub(crate) fn elements_of(dims: &[i64]) -> Option<usize> {
    dims.iter()
        .try_fold(1, |product: usize, &size| product.checked_mul(usize::try_from(size).ok()?))
}

/// The address and the length of a list of axes; NULL for none.
pub(crate) fn axes_of(axes: Option<&[i32]>) -> Result<(*const i32, i32)> {
    match axes {
        Some(axes) => Ok((axes.as_ptr(), count(axes.len(), "axes")?)),
        None => Ok((ptr::null(), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, ParameterGroup};

    #[test]
    fn structs_of_a_later_version_are_longer() {
        #[repr(C)]
        struct Longer {
            group: sys::troika_parameter_group,
            more: i64,
        }
        let longer = |frozen| {
            let mut group = ParameterGroup::init();
            group.struct_size = size_of::<Longer>() as u32;
            group.frozen = frozen;
            Longer { group, more: -1 }
        };
        let list = [longer(0), longer(1), longer(0)];
        let groups: Vec<ParameterGroup> = unsafe { read_structs(&list[0].group, 3) }.unwrap();
        assert_eq!(
            groups.iter().map(|group| group.frozen).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(list[0].more, -1);
    }

    #[test]
    fn numbers_of_a_later_version_are_refused() {
        assert_eq!(Dtype::from_raw(sys::TROIKA_DTYPE_BF16).unwrap(), Dtype::Bf16);
        let error = Dtype::from_raw(99).unwrap_err();
        assert_eq!(error.status(), Status::Unsupported);
        assert!(error.message().starts_with("Dtype: the number 99 "), "{error}");
        assert_eq!(Status::of(99), Status::Other(99));
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        assert_eq!(count::<i32>(5, "dims").unwrap(), 5);
        let error = count::<i32>(usize::MAX, "dims").unwrap_err();
        assert!(error.message().ends_with("is too large, needs 32 bits at most"), "{error}");
        assert_eq!(elements_of(&[2, 3]), Some(6));
        assert_eq!(elements_of(&[]), Some(1));
        assert_eq!(elements_of(&[i64::MAX, 3]), None);
        assert_eq!(elements_of(&[-1]), None);
    }

    #[test]
    fn each_option_has_the_library_s_default() {
        let options = crate::PlanOptions::default();
        assert_eq!((options.devices, options.operations_per_second), (1, None));
        let raw = options.to_raw(&mut Held::default()).unwrap();
        assert_eq!(raw.operations_per_second, sys::TROIKA_UNSET.into());
        assert!(raw.recompute_layers.is_null() && raw.trainer.is_null());
        let pool = crate::Pool2dOptions::default();
        assert_eq!(pool.stride, None);
        let unset = i64::from(sys::TROIKA_UNSET);
        assert_eq!(pool.to_raw(&mut Held::default()).unwrap().stride, [unset; 2]);
    }
}
